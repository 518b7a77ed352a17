// Draws the charts as SVG and lets them be read: one cursor and one span of time for all of them.
// Colours are variables of the page's style sheet, so that the charts follow light, dark and print.
(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg";
  var DASHES = { solid: "none", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3" };
  var PRINT_WIDTH = 672; // CSS pixels of an A4 page between its margins
  var LEAST_DRAG = 8; // pixels: less is a click
  var root = document.documentElement;
  var source = document.getElementById("figures");
  var figures = source ? JSON.parse(source.textContent) : {};
  var charts = {}; // key → what is drawn: scales and elements of the cursor
  var hidden = {}; // key → numbers of the lines that the legend has switched off
  var zoomed = null; // the span of time that was chosen, in s

  function add(parent, name, attributes, text) {
    var made = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    parent.appendChild(made);
    return made;
  }

  function paint(colour) { return colour && colour.slice(0, 2) === "--" ? "var(" + colour + ")" : colour; }
  function short(value, digits) { return String(Number(value.toPrecision(digits))); }

  function ticks(low, high, most, least) {
    var raw = Math.max((high - low) / most, 1e-12);
    var size = Math.pow(10, Math.floor(Math.log10(raw)));
    var step = Math.max(size * [1, 2, 5, 10].find(function (part) { return part * size >= raw; }), least || 0);
    var found = [];
    for (var number = Math.ceil(low / step - 1e-9); number * step <= high + step * 1e-9; number += 1) { found.push(number * step); }
    return found;
  }

  function timeRange(figure) {
    var whole = figure.layout.xaxis.range;
    var span = zoomed ? [Math.max(zoomed[0], whole[0]), Math.min(zoomed[1], whole[1])] : whole;
    return span[1] > span[0] ? span : whole;
  }

  // The range of the whole picture; of a chosen span, the one that its lines take.
  function valueRange(figure, span, off) {
    var low = Infinity, high = -Infinity;
    figure.data.forEach(function (line, number) {
      if (line.hoverinfo === "skip" || off.indexOf(number) >= 0) { return; }
      line.x.forEach(function (x, place) {
        if (x >= span[0] && x <= span[1]) { low = Math.min(low, line.y[place]); high = Math.max(high, line.y[place]); }
      });
    });
    var given = figure.layout.yaxis.range;
    if (given && (!zoomed || high <= low)) { return given; }
    if (low > high) { return [0, 1]; }
    var room = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
    return [given && given[0] === 0 ? 0 : low - room, high + room];
  }

  function pathOf(line, x, y, span) {
    var stepped = line.line.shape === "hv", words = [], last = null;
    line.x.forEach(function (time, place) {
      var next = line.x[place + 1], former = line.x[place - 1];
      if ((next !== undefined && next < span[0]) || (former !== undefined && former > span[1])) { return; }
      var across = x(time).toFixed(1), up = y(line.y[place]).toFixed(1);
      words.push(last === null ? "M" + across + " " + up : stepped ? "H" + across + "V" + up : "L" + across + " " + up);
      last = up;
    });
    return words.join("");
  }

  function drawAxes(svg, chart, figure, font) {
    var plot = chart.plot, upright = figure.layout.yaxis;
    var range = chart.values, across = ticks(chart.span[0], chart.span[1], chart.narrow ? 5 : 10);
    ticks(range[0], range[1], 6, upright.dtick).forEach(function (value) {
      var y = chart.y(value).toFixed(1);
      add(svg, "line", { x1: plot.left, x2: plot.right, y1: y, y2: y, stroke: "var(--grid)" });
      add(svg, "text", { x: plot.left - 6, y: Number(y) + font / 3, "text-anchor": "end" }, short(value, 6));
    });
    across.forEach(function (time) {
      var x = chart.x(time).toFixed(1);
      add(svg, "line", { x1: x, x2: x, y1: plot.bottom, y2: plot.bottom + 4, stroke: "var(--line)" });
      add(svg, "text", { x: x, y: plot.bottom + 6 + font, "text-anchor": "middle" }, short(time, 6));
    });
    add(svg, "path", { d: "M" + plot.left + " " + plot.top + "V" + plot.bottom + "H" + plot.right, fill: "none", stroke: "var(--line)" });
    var middle = (plot.left + plot.right) / 2;
    add(svg, "text", { x: middle, y: plot.bottom + 12 + 2 * font, "text-anchor": "middle" }, figure.layout.xaxis.title.text);
  }

  function drawShapes(clipped, chart, figure) {
    var plot = chart.plot, height = plot.bottom - plot.top;
    (figure.layout.shapes || []).forEach(function (shape) {
      var x0 = chart.x(shape.x0), x1 = chart.x(shape.x1);
      var y0 = plot.bottom - shape.y0 * height, y1 = plot.bottom - shape.y1 * height;
      if (shape.type === "line") {
        add(clipped, "line", { x1: x0, x2: x1, y1: y0, y2: y1, stroke: paint(shape.line.color), "stroke-width": shape.line.width, "stroke-dasharray": DASHES[shape.line.dash] });
        return;
      }
      add(clipped, "rect", { x: x0, y: y1, width: Math.max(x1 - x0, 0), height: y0 - y1, fill: paint(shape.fillcolor), opacity: shape.opacity });
      if (shape.label.text && x1 - x0 > 6.5 * shape.label.text.length) {
        add(clipped, "text", { x: (x0 + x1) / 2, y: (y0 + y1) / 2 + 4, "text-anchor": "middle", class: "halo" }, shape.label.text);
      }
    });
  }

  function drawNames(svg, chart, figure) {
    var plot = chart.plot;
    (figure.layout.annotations || []).forEach(function (each) {
      var right = each.xref === "paper";
      var x = right ? plot.right - 2 : chart.x(each.x), y = each.yref === "paper" ? plot.top : chart.y(each.y);
      if (x < plot.left || x > plot.right || y < plot.top - 1 || y > plot.bottom) { return; }
      add(svg, "text", { x: x, y: y - 4, "text-anchor": right ? "end" : "middle", style: "fill:" + paint(each.font.color), class: "halo name" }, each.text);
    });
  }

  function draw(key, printing) {
    var box = document.getElementById("chart-" + key), figure = figures[key];
    if (!box) { return; }
    var width = printing ? PRINT_WIDTH : box.clientWidth || PRINT_WIDTH, narrow = width < 520;
    var height = printing ? 190 : narrow ? 240 : box.closest(".trio") ? 240 : box.closest(".first") ? 330 : 280;
    var font = narrow || printing ? 11 : 12, off = hidden[key] || [];
    var span = timeRange(figure), values = valueRange(figure, span, off);
    var plot = { left: narrow ? 46 : 58, right: width - 12, top: figure.layout.shapes || figure.layout.annotations ? 24 : 12, bottom: height - 46 };
    var chart = { plot: plot, span: span, values: values, narrow: narrow, width: width };
    chart.x = function (time) { return plot.left + (time - span[0]) / (span[1] - span[0]) * (plot.right - plot.left); };
    chart.y = function (value) { return plot.bottom - (value - values[0]) / (values[1] - values[0]) * (plot.bottom - plot.top); };
    chart.time = function (x) { return span[0] + (x - plot.left) / (plot.right - plot.left) * (span[1] - span[0]); };
    var svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.setAttribute("font-size", font);
    svg.setAttribute("aria-hidden", "true"); // the box has the words
    var clip = add(svg, "clipPath", { id: "clip-" + key });
    add(clip, "rect", { x: plot.left, y: 0, width: plot.right - plot.left, height: plot.bottom + 1 });
    drawAxes(svg, chart, figure, font);
    var clipped = add(svg, "g", { "clip-path": "url(#clip-" + key + ")" });
    drawShapes(clipped, chart, figure);
    figure.data.forEach(function (line, number) {
      if (off.indexOf(number) >= 0) { return; }
      add(clipped, "path", { d: pathOf(line, chart.x, chart.y, span), fill: "none", stroke: paint(line.line.color), "stroke-width": line.line.width, "stroke-dasharray": DASHES[line.line.dash], "stroke-linejoin": "round" });
    });
    drawNames(svg, chart, figure);
    chart.cursor = add(svg, "line", { y1: plot.top, y2: plot.bottom, class: "cursor", visibility: "hidden" });
    chart.chosen = add(svg, "rect", { y: plot.top, height: plot.bottom - plot.top, class: "chosen", visibility: "hidden" });
    chart.told = document.createElement("div");
    chart.told.className = "told";
    chart.told.hidden = true;
    box.replaceChildren(svg, chart.told);
    charts[key] = chart;
  }

  function drawAll(printing) { Object.keys(figures).forEach(function (key) { draw(key, printing); }); }

  function nearest(times, time) {
    var low = 0, high = times.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (times[middle] <= time) { low = middle; } else { high = middle; }
    }
    return time - times[low] <= times[high] - time ? low : high;
  }

  // The cursor stands at one time in every chart; each tells its lines' values there.
  function point(time) {
    Object.keys(charts).forEach(function (key) {
      var chart = charts[key], figure = figures[key];
      var inside = time !== null && time >= chart.span[0] && time <= chart.span[1];
      chart.cursor.setAttribute("visibility", inside ? "visible" : "hidden");
      chart.told.hidden = !inside;
      if (!inside) { return; }
      var x = chart.x(time), rows = [document.createElement("b")];
      chart.cursor.setAttribute("x1", x);
      chart.cursor.setAttribute("x2", x);
      rows[0].textContent = short(time, 4) + " s";
      figure.data.forEach(function (line, number) {
        if (line.hoverinfo === "skip" || (hidden[key] || []).indexOf(number) >= 0 || !line.x.length) { return; }
        var row = document.createElement("span");
        row.style.color = paint(line.line.color);
        row.textContent = short(line.y[nearest(line.x, time)], 5) + " " + figure.layout.yaxis.title.text + (figure.data.length > 1 ? ", " + line.name : "");
        rows.push(row);
      });
      chart.told.replaceChildren.apply(chart.told, rows);
      var left = x < chart.width / 2;
      chart.told.style.left = left ? x + 10 + "px" : "auto";
      chart.told.style.right = left ? "auto" : chart.width - x + 10 + "px";
    });
  }

  function listen(key) {
    var box = document.getElementById("chart-" + key), begun = null;
    if (!box) { return; }
    function at(event) {
      var plot = charts[key].plot, x = event.clientX - box.getBoundingClientRect().left;
      return Math.min(Math.max(x, plot.left), plot.right);
    }
    box.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "mouse" && event.button === 0) { begun = at(event); box.setPointerCapture(event.pointerId); event.preventDefault(); }
    });
    box.addEventListener("pointermove", function (event) {
      var x = at(event), chosen = charts[key].chosen;
      point(charts[key].time(x));
      if (begun === null) { return; }
      chosen.setAttribute("visibility", "visible");
      chosen.setAttribute("x", Math.min(x, begun));
      chosen.setAttribute("width", Math.abs(x - begun));
    });
    box.addEventListener("pointerup", function (event) {
      if (begun === null) { return; }
      var ends = [begun, at(event)].sort(function (one, two) { return one - two; });
      begun = null;
      if (ends[1] - ends[0] >= LEAST_DRAG) { zoomed = ends.map(charts[key].time); drawAll(false); }
    });
    box.addEventListener("pointerleave", function () { point(null); });
    box.addEventListener("dblclick", function () { zoomed = null; drawAll(false); });
  }

  document.querySelectorAll(".legend button").forEach(function (button) {
    button.addEventListener("click", function () {
      var key = button.dataset.chart;
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "false" ? "true" : "false");
      hidden[key] = Array.from(document.querySelectorAll('.legend button[data-chart="' + key + '"][aria-pressed="false"]'))
        .map(function (each) { return Number(each.dataset.line); });
      draw(key, false);
    });
  });

  var opened = [];
  function beginPrint() {
    root.classList.add("printing");
    document.querySelectorAll("details.prints:not([open])").forEach(function (each) { each.open = true; opened.push(each); });
    drawAll(true);
  }
  function endPrint() {
    root.classList.remove("printing");
    opened.splice(0).forEach(function (each) { each.open = false; });
    drawAll(false);
  }

  drawAll(window.matchMedia("print").matches);
  Object.keys(figures).forEach(listen);
  window.addEventListener("beforeprint", beginPrint);
  window.addEventListener("afterprint", endPrint);
  var waiting = 0, width = window.innerWidth;
  window.addEventListener("resize", function () {
    if (window.innerWidth === width || root.classList.contains("printing")) { return; }
    width = window.innerWidth;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(function () { drawAll(false); }, 120);
  });
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(function () {
        button.textContent = "copied";
      });
    });
  });
})();
