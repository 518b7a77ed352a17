// Tables that landspeed computed: figures by the places of sliders, curves over time. Nothing is computed here but where to look.
window.landspeed = {};
(function (here) {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var sizes = data.sliders.map(function (slider) { return slider.texts.length; });
  var number = {};
  data.sliders.forEach(function (slider, place) { number[slider.key] = place; });
  var columns = null;

  here.data = data;
  here.number = number;
  here.start = function () { return data.sliders.map(function (slider) { return slider.start; }); };

  // A figure that some sliders decide.
  here.figure = function (table, at) {
    var place = table.over.reduce(function (sum, key) { return sum * sizes[number[key]] + at[number[key]]; }, 0);
    return table.values[place];
  };

  // Columns as tables.py packed them: 32 bits each as differences, the lowest bytes of all of a column first.
  function unpack(bytes) {
    var layout = data.theory.layout;
    var lengths = { begins: layout.curves + 1, index: layout.settings, cycles: layout.curves, means: layout.curves,
      longs: layout.curves, bounds: layout.curves, times: layout.nodes, levels: layout.nodes, queues: layout.nodes };
    var found = {};
    var offset = 0;
    Object.keys(lengths).forEach(function (name) {
      var length = lengths[name];
      var column = new Uint32Array(length);
      var sum = 0;
      for (var i = 0; i < length; i += 1) {
        sum = (sum + (bytes[offset + i] | bytes[offset + length + i] << 8
          | bytes[offset + 2 * length + i] << 16 | bytes[offset + 3 * length + i] << 24)) >>> 0;
        column[i] = sum;
      }
      found[name] = column;
      offset += 4 * length;
    });
    return found;
  }

  here.ready = function () {
    var packed = Uint8Array.from(atob(data.theory.data), function (letter) { return letter.charCodeAt(0); });
    var stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer().then(function (buffer) {
      columns = unpack(new Uint8Array(buffer));
      data.theory.data = null;
    });
  };

  function decoded(code, least, steps) { return code ? least * Math.pow(10, (code - 1) / steps) : 0; }

  // What theory says at a setting: mean and long-run goodput in bit/s, what binds, and the nodes over time.
  here.theory = function (at) {
    var scale = data.theory.scale;
    var place = at.reduce(function (sum, each, which) { return sum * sizes[which] + each; }, 0);
    var curve = columns.index[place];
    var full = here.figure(data.figures.lineRate, at);
    function node(i) {
      return { time: decoded(columns.times[i], scale.time, scale.curve),
        goodput: full * decoded(columns.levels[i], scale.level, scale.curve),
        level: decoded(columns.levels[i], scale.level, scale.curve),
        queue: decoded(columns.queues[i], scale.queue, scale.curve) };
    }
    return {
      mean: full * decoded(columns.means[curve], scale.level, scale.mean),
      long: full * decoded(columns.longs[curve], scale.level, scale.mean),
      bound: data.theory.bounds[columns.bounds[curve]],
      nodes: function () {
        var rise = [];
        var cycle = [];
        var begin = columns.begins[curve];
        for (var i = begin; i < columns.begins[curve + 1]; i += 1) {
          (i - begin < columns.cycles[curve] ? rise : cycle).push(node(i));
        }
        return { rise: rise, cycle: cycle };
      },
    };
  };

  // The nodes up to a time, the cycle repeated; at most so many cycles, then their mean as a last straight line.
  here.unrolled = function (theory, until, most) {
    var curve = theory.nodes();
    var nodes = curve.rise.slice();
    var last = nodes[nodes.length - 1];
    var period = curve.cycle[curve.cycle.length - 1].time;
    if (period <= 0) { return { nodes: nodes.concat([at(curve.cycle[0], Math.max(until, last.time))]), dense: false }; }
    var cycles = Math.ceil(Math.max(0, until - last.time) / period);
    if (cycles > most) {
      var levels = curve.cycle.map(function (each) { return each.goodput; });
      return { nodes: nodes, dense: true, from: last.time, low: Math.min.apply(null, levels), high: Math.max.apply(null, levels) };
    }
    for (var n = 0; n < cycles; n += 1) {
      curve.cycle.forEach(function (each) { nodes.push(at(each, last.time + n * period + each.time)); });
    }
    return { nodes: nodes, dense: false };

    function at(node, time) { return { time: time, goodput: node.goodput, level: node.level, queue: node.queue }; }
  };

  // The median round trip between two times, in ms: the empty path's, and what waits in the queue.
  here.loaded = function (theory, rttMs, from, until) {
    var found = [];
    for (var n = 0; n <= 200; n += 1) { found.push(rttMs * (1 + here.moment(theory, from + (until - from) * n / 200).queue)); }
    return found.sort(function (one, other) { return one - other; })[100];
  };

  // The state at a moment: between two nodes in proportion.
  here.moment = function (theory, time) {
    var curve = theory.nodes();
    var nodes = curve.rise;
    var last = nodes[nodes.length - 1].time;
    if (time > last) {
      var period = curve.cycle[curve.cycle.length - 1].time;
      nodes = curve.cycle;
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
