// Figures by the places of sliders, which landspeed computed, and curves over time unrolled.
window.landspeed = {};
(function (here) {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var sizes = data.sliders.map(function (slider) { return slider.texts.length; });
  var number = {};
  data.sliders.forEach(function (slider, place) { number[slider.key] = place; });

  here.data = data;
  here.number = number;
  here.start = function () { return data.sliders.map(function (slider) { return slider.start; }); };

  // A slider's value, in base units.
  here.value = function (key, at) { return data.sliders[number[key]].values[at[number[key]]]; };

  // A figure that some sliders decide.
  here.figure = function (table, at) {
    var place = table.over.reduce(function (sum, key) { return sum * sizes[number[key]] + at[number[key]]; }, 0);
    return table.values[place];
  };

  // The nodes up to a time, the cycle repeated; at most so many cycles, then their mean as a last straight line.
  here.unrolled = function (theory, until, most) {
    var nodes = theory.rise.slice();
    var last = nodes[nodes.length - 1];
    var period = theory.cycle[theory.cycle.length - 1].time;
    if (period <= 0) { return { nodes: nodes.concat([at(theory.cycle[0], Math.max(until, last.time))]), dense: false }; }
    var cycles = Math.ceil(Math.max(0, until - last.time) / period);
    if (cycles > most) {
      var levels = theory.cycle.map(function (each) { return each.goodput; });
      return { nodes: nodes, dense: true, from: last.time, low: Math.min.apply(null, levels), high: Math.max.apply(null, levels) };
    }
    for (var n = 0; n < cycles; n += 1) {
      theory.cycle.forEach(function (each) { nodes.push(at(each, last.time + n * period + each.time)); });
    }
    return { nodes: nodes, dense: false };

    function at(node, time) { return { time: time, goodput: node.goodput, level: node.level, queue: node.queue }; }
  };

  // The median round trip between two times: the empty path's, and what waits in the queue.
  here.loaded = function (theory, rtt, from, until) {
    var found = [];
    for (var n = 0; n <= 200; n += 1) { found.push(rtt * (1 + here.moment(theory, from + (until - from) * n / 200).queue)); }
    return found.sort(function (one, other) { return one - other; })[100];
  };

  // The state at a moment: between two nodes in proportion.
  here.moment = function (theory, time) {
    var nodes = theory.rise;
    var last = nodes[nodes.length - 1].time;
    if (time > last) {
      var period = theory.cycle[theory.cycle.length - 1].time;
      nodes = theory.cycle;
      time = period > 0 ? (time - last) % period : 0;
    }
    for (var i = 1; i < nodes.length; i += 1) {
      if (nodes[i].time >= time) {
        var one = nodes[i - 1];
        var part = nodes[i].time > one.time ? (time - one.time) / (nodes[i].time - one.time) : 1;
        return { level: one.level + part * (nodes[i].level - one.level), queue: one.queue + part * (nodes[i].queue - one.queue),
          goodput: one.goodput + part * (nodes[i].goodput - one.goodput) };
      }
    }
    return nodes[nodes.length - 1];
  };
})(window.landspeed);
