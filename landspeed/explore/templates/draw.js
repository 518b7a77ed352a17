// What pictures are made of: elements of SVG, steps of axes, quantities as text.
(function (here) {
  "use strict";
  var SPACE = "http://www.w3.org/2000/svg";
  var UNITS = [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];

  here.element = function (name, attributes, text) {
    var made = document.createElementNS(SPACE, name);
    Object.keys(attributes || {}).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    return made;
  };

  // An empty picture as wide as its box.
  here.picture = function (box, height) {
    var width = Math.max(260, Math.round(box.clientWidth || 640));
    var svg = here.element("svg", { viewBox: "0 0 " + width + " " + height, width: width, height: height, "aria-hidden": "true" });
    box.replaceChildren(svg);
    return { svg: svg, width: width, height: height, add: function (name, attributes, text) {
      return svg.appendChild(here.element(name, attributes, text));
    } };
  };

  here.rateUnit = function (bps) {
    return UNITS.find(function (unit) { return bps >= unit[0]; }) || UNITS[UNITS.length - 1];
  };

  here.significant = function (value, digits) {
    if (!value) { return "0"; }
    var places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toFixed(Math.min(places, 6));
  };

  here.rate = function (bps) {
    var unit = here.rateUnit(bps);
    return here.significant(bps / unit[0], 4) + "\u00a0" + unit[1];
  };

  here.time = function (s) {
    if (s >= 3600) { return here.significant(s / 3600, 3) + "\u00a0h"; }
    if (s >= 120) { return here.significant(s / 60, 3) + "\u00a0min"; }
    return s >= 1 || s === 0 ? here.significant(s, 3) + "\u00a0s" : here.significant(s * 1000, 3) + "\u00a0ms";
  };

  // Round numbers from 0 to a little above the top.
  here.ticks = function (top, count) {
    var rough = top / count;
    var power = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 5, 10].map(function (n) { return n * power; }).find(function (each) { return each >= rough; });
    var found = [];
    for (var value = 0; value <= top * 1.0001; value += step) { found.push(value); }
    return found;
  };

  // Heights of labels that would lie on each other, moved apart; each wants to be at `y`.
  here.apart = function (labels, gap, low, high) {
    var sorted = labels.slice().sort(function (one, other) { return one.y - other.y; });
    var last = low - gap;
    sorted.forEach(function (each) { each.y = Math.max(each.y, last + gap); last = each.y; });
    for (var i = sorted.length - 1, bottom = high; i >= 0; i -= 1) {
      sorted[i].y = Math.min(sorted[i].y, bottom);
      bottom = sorted[i].y - gap;
    }
    return labels;
  };
})(window.landspeed);
