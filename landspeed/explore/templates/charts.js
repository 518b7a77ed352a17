// Goodput over time and over one slider: theory, limits and measured runs in one picture each.
(function (here) {
  "use strict";
  var HEIGHT = 290;
  var MOST_CYCLES = 150;

  function frame(picture, margin) {
    return { left: margin.left, right: picture.width - margin.right, top: 14, bottom: HEIGHT - 44 };
  }

  function upright(picture, plot, values, y, text) {
    values.forEach(function (value) {
      picture.add("line", { x1: plot.left, x2: plot.right, y1: y(value), y2: y(value), class: "grid" });
      picture.add("text", { x: plot.left - 7, y: y(value) + 4, "text-anchor": "end" }, text(value));
    });
  }

  // Names of limits at the right, beside their lines; those above the picture are told at its top.
  function limits(picture, plot, every, y, top) {
    var labels = every.filter(function (each) { return each.level <= top; }).map(function (each) {
      picture.add("line", { x1: plot.left, x2: plot.right, y1: y(each.level), y2: y(each.level), class: "limit" });
      return { y: y(each.level) - 4, text: each.name };
    });
    here.apart(labels, 14, plot.top + 8, plot.bottom - 4).forEach(function (each) {
      picture.add("text", { x: plot.right - 3, y: each.y, "text-anchor": "end", class: "limit-name" }, each.text);
    });
    var above = every.filter(function (each) { return each.level > top; });
    if (above.length) {
      picture.add("text", { x: plot.left + 6, y: plot.top + 8, class: "limit-name" },
        "above: " + above.map(function (each) { return each.name + " " + here.rate(each.level); }).join(", "));
    }
  }

  function path(points) {
    return points.map(function (each, i) { return (i ? "L" : "M") + each[0].toFixed(1) + " " + each[1].toFixed(1); }).join("");
  }

  // what: { theory, limits: [{name, level}], run: measured or undefined, span, moment }
  here.drawTime = function (box, what) {
    var picture = here.picture(box, HEIGHT);
    var plot = frame(picture, { left: 50, right: 10 });
    var curve = here.unrolled(what.theory, what.span, MOST_CYCLES);
    var seen = curve.nodes.filter(function (each) { return each.time <= what.span; });
    var series = what.run ? what.run.series : [];
    var peak = Math.max.apply(null, seen.map(function (each) { return each.goodput; })
      .concat(curve.dense ? [curve.high] : [], series.map(function (each) { return each * 1000; }), [what.theory.long, 1000]));
    var near = what.limits.filter(function (each) { return each.level < 2.2 * peak; }).map(function (each) { return each.level; });
    var top = 1.12 * Math.max.apply(null, near.concat([peak]));
    var unit = here.rateUnit(top);
    function x(time) { return plot.left + (plot.right - plot.left) * time / what.span; }
    function y(bps) { return plot.bottom - (plot.bottom - plot.top) * bps / top; }

    upright(picture, plot, here.ticks(top / unit[0], 5).map(function (each) { return each * unit[0]; }), y,
      function (value) { return String(Number((value / unit[0]).toPrecision(6))); });
    var divisor = what.span > 7200 ? 3600 : what.span > 120 ? 60 : 1;
    here.ticks(what.span / divisor, picture.width < 420 ? 4 : 8).forEach(function (value) {
      if (value * divisor > what.span) { return; }
      picture.add("text", { x: x(value * divisor), y: plot.bottom + 18, "text-anchor": "middle" }, String(Number(value.toPrecision(6))));
    });
    picture.add("text", { x: (plot.left + plot.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      "time since the start (" + { 1: "s", 60: "min", 3600: "h" }[divisor] + ")");
    limits(picture, plot, what.limits, y, top);
    if (curve.dense) {
      var from = Math.min(x(curve.from), plot.right);
      picture.add("rect", { x: from, width: plot.right - from, y: y(curve.high), height: Math.max(1, y(curve.low) - y(curve.high)), class: "theory-band" });
      seen = seen.concat([{ time: Math.max(curve.from, 0), goodput: what.theory.long }, { time: what.span, goodput: what.theory.long }]);
    }
    if (series.length) {
      var step = here.data.step;
      var points = [];
      series.forEach(function (value, i) {
        if ((i + 1) * step <= what.span + step / 2) { points.push([x(i * step), y(value * 1000)], [x((i + 1) * step), y(value * 1000)]); }
      });
      picture.add("path", { d: path(points), class: "measured-line" });
    }
    var clipped = cut(curve.dense ? seen : curve.nodes, what.span).map(function (each) { return [x(each.time), y(each.goodput)]; });
    picture.add("path", { d: path(clipped), class: "theory-line" });
    if (what.moment <= what.span) {
      picture.add("line", { x1: x(what.moment), x2: x(what.moment), y1: plot.top, y2: plot.bottom, class: "moment-line" });
    }
    return unit[1];
  };

  function cut(nodes, span) {
    var found = [];
    for (var i = 0; i < nodes.length; i += 1) {
      if (nodes[i].time > span) {
        if (i) {
          var one = nodes[i - 1];
          var part = (span - one.time) / (nodes[i].time - one.time);
          found.push({ time: span, goodput: one.goodput + part * (nodes[i].goodput - one.goodput) });
        }
        break;
      }
      found.push(nodes[i]);
    }
    return found;
  }

  // what: { texts, here: place, theory: [bps], limits: [{name, levels}], points: [{place, mean, exact, text, choose}] }
  here.drawAlong = function (box, what) {
    var picture = here.picture(box, HEIGHT);
    var plot = frame(picture, { left: 58, right: 14 });
    var levels = what.theory.concat(what.points.map(function (each) { return each.mean; })).filter(function (each) { return each > 0; });
    var high = Math.max.apply(null, levels);
    var low = Math.min.apply(null, levels);
    var logarithmic = high / low > 12;
    var bottom = logarithmic ? low / 1.6 : 0;
    var top = logarithmic ? high * 2.2 : high * 1.18;
    var unit = here.rateUnit(high);
    var count = what.texts.length;
    function x(place) { return plot.left + (plot.right - plot.left) * (place + 0.5) / count; }
    function y(bps) {
      var part = logarithmic ? Math.log(Math.max(bps, bottom) / bottom) / Math.log(top / bottom) : bps / top;
      return plot.bottom - (plot.bottom - plot.top) * part;
    }
    var decades = [];
    for (var power = Math.ceil(Math.log10(bottom || 1)); logarithmic && Math.pow(10, power) <= top; power += 1) { decades.push(Math.pow(10, power)); }
    upright(picture, plot, logarithmic ? decades : here.ticks(top / unit[0], 5).map(function (each) { return each * unit[0]; }), y,
      function (value) { return String(Number((value / unit[0]).toPrecision(4))); });
    picture.add("rect", { x: x(what.here - 0.5), width: x(1) - x(0), y: plot.top, height: plot.bottom - plot.top, class: "chosen" });
    what.texts.forEach(function (text, place) {
      var turned = count > 5 && picture.width < 520;
      picture.add("text", turned
        ? { transform: "translate(" + (x(place) + 4) + " " + (plot.bottom + 12) + ") rotate(-35)", "text-anchor": "end" }
        : { x: x(place), y: plot.bottom + 18, "text-anchor": "middle", class: place === what.here ? "strong" : "" }, text);
    });
    var labels = what.limits.map(function (limit) {
      var inside = limit.levels.map(function (level, place) { return { place: place, level: level }; })
        .filter(function (each) { return each.level !== null && each.level <= top && each.level >= bottom; });
      if (!inside.length) { return null; }
      var points = [];
      limit.levels.forEach(function (level, place) {
        if (level !== null) { points.push([x(place), Math.max(plot.top, Math.min(plot.bottom, y(level)))]); }
      });
      picture.add("path", { d: path(points), class: "limit" });
      var last = inside[inside.length - 1];
      return { x: x(last.place), y: y(last.level) - 6, text: limit.name };
    }).filter(Boolean);
    here.apart(labels, 14, plot.top + 8, plot.bottom - 4).forEach(function (each) {
      var left = each.x < (plot.left + plot.right) / 2;
      picture.add("text", { x: Math.min(each.x + (left ? 10 : 0), plot.right - 3), y: each.y,
        "text-anchor": left ? "start" : "end", class: "limit-name" }, each.text);
    });
    picture.add("path", { d: path(what.theory.map(function (bps, place) { return [x(place), y(bps)]; })), class: what.word ? "theory-line faint" : "theory-line" });
    what.theory.forEach(function (bps, place) { picture.add("path", { d: "M" + (x(place) - 6) + " " + y(bps) + "h12", class: "theory-mark" }); });
    what.points.forEach(function (each) {
      var dot = picture.add("circle", { cx: x(each.place) + (each.exact ? 0 : 9), cy: y(each.mean), r: each.exact ? 5 : 3.4, class: each.exact ? "measured-dot" : "measured-dot near" });
      dot.appendChild(here.element("title", {}, each.text));
      dot.addEventListener("click", each.choose); // a finger cannot hover: a tap goes to the setting of that run
    });
    return unit[1];
  };
})(window.landspeed);
