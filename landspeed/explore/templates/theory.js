// Goodput over time in theory, computed where it is looked at: goodput_theory.py and growth.py once more, constants from
// there. tests/explore/test_page.py holds both to the same figures. Windows in packets, times in s; a node is [time, window].
(function (here) {
  "use strict";
  var data = here.data;
  var known = data.theory;

  // --- growth after a loss: share, floor, peak, time -> window -----------------------------------------------------------

  function additive(share, floor, slope, since) {
    if (floor >= share.pipe) { return Math.sqrt(floor * floor + 2 * slope * share.pipe * since / share.rtt); }
    var full = (share.pipe - floor) * share.rtt / slope;
    if (since <= full) { return floor + slope * since / share.rtt; }
    return Math.sqrt(share.pipe * share.pipe + 2 * slope * share.pipe * (since - full) / share.rtt);
  }

  function cubicPackets(origin, k, since) { return known.cubicC * Math.pow(since - k, 3) + origin; }

  function htcpIntegral(since) {
    var later = since - known.htcpLinear;
    return later <= 0 ? since : since + 5 * later * later + later * later * later / 12;
  }

  function within(value, span) { return Math.min(Math.max(value, span[0]), span[1]); }

  var growths = {
    reno: function (share, floor, _peak, since) { return additive(share, floor, 1, since); },
    cubic: function (share, floor, peak, since) {
      if (floor >= peak && floor >= share.pipe) {
        return Math.max(floor + share.pipe / 20 * since / share.rtt, cubicPackets(floor, 0, since));
      }
      var origin = Math.max(peak, floor);
      var k = Math.pow((origin - floor) / known.cubicC, 1 / 3);
      return Math.max(cubicPackets(origin, k, since), additive(share, floor, known.cubicFriendly, since));
    },
    htcp: function (share, floor, peak, since) {
      var beta = peak ? within(floor / peak, known.htcpBeta) : known.htcpBeta[0];
      var scale = within(0.1 / share.rtt, known.htcpScale);
      var late = known.htcpLinear + (scale > 1 ? 2 * (Math.sqrt(100 + scale - 1) - 10) : 0);
      var grown = since;
      if (scale <= 1) { grown = htcpIntegral(since) / scale; } else if (since > late) {
        grown = late + (htcpIntegral(since) - htcpIntegral(late)) / scale;
      }
      return floor + 2 * (1 - beta) * grown / share.rtt;
    },
  };

  function keeps(control, share, before) {
    if (control === "cubic") { return known.cubicBeta; }
    if (control === "htcp" && share.rtt > known.htcpShort) { return within(Math.min(1, share.pipe / before), known.htcpBeta); }
    return 0.5;
  }

  // --- the window over time: { rise: nodes from the start, cycle: nodes that come again and again } ----------------------

  function doubling(share, target) {
    var window = known.initialWindow;
    var time = share.rtt / 2;
    var nodes = [[0, 0], [time, 0], [time, Math.min(window, target)]];
    while (window < target) {
      var step = Math.min(2, target / window);
      time += Math.log2(step) * share.rtt;
      window *= step;
      nodes.push([time, window]);
    }
    return { nodes: nodes, time: time };
  }

  function bbr(share) {
    var window = Math.min(share.cap, share.pipe);
    var nodes = doubling(share, window).nodes;
    if (window <= known.bbrDipWindow) { return { rise: nodes, cycle: [[0, window]] }; }
    var every = known.bbrDipEvery;
    var end = every + Math.max(known.bbrDip, share.rtt);
    var level = window * (1 - 1 / share.spacing);
    return { rise: nodes, cycle: [[0, level], [every, level], [every, known.bbrDipWindow], [end, known.bbrDipWindow], [end, level]] };
  }

  function slowStart(share, control) {
    var rounds = Math.max(0, Math.ceil(Math.log2(share.pipe / known.initialWindow)));
    var leaves = control === "cubic" ? known.initialWindow * Math.pow(2, rounds) + share.pipe : Infinity;
    var lostAt = known.initialWindow + share.spacing;
    var target = Math.min(lostAt, share.brim, share.cap, leaves);
    var start = doubling(share, target);
    if (target === share.cap) { return { nodes: start.nodes, floor: share.cap, peak: share.cap, steady: share.spacing === Infinity }; }
    if (target === lostAt || target === share.brim) {
      var noticed = target === lostAt ? lostAt : Math.min(2 * share.brim, share.cap, leaves);
      var held = Math.min(noticed, share.brim);
      start.nodes.push([start.time + share.rtt * Math.max(1, held / share.pipe), held]);
      return { nodes: start.nodes, floor: Math.max(known.leastWindow, keeps(control, share, noticed) * noticed), peak: noticed, steady: false };
    }
    return { nodes: start.nodes, floor: target, peak: target, steady: false };
  }

  // The time at which a growing window reaches a limit, by false position (Illinois).
  function first(above, high, scale) {
    var low = 0;
    var below = above(0);
    var aim = 1e-4 * -below;
    if (high === Infinity) {
      for (high = scale; above(high) < 0; high *= 2) { low = high; below = above(high); }
    }
    var over = above(high);
    for (var n = 0; n < 40; n += 1) {
      var middle = high - over * (high - low) / (over - below);
      var value = above(middle);
      if (Math.abs(value) <= aim) { return middle; }
      if (value < 0) { low = middle; below = value; over /= 2; } else { high = middle; over = value; below /= 2; }
    }
    return high;
  }

  // From a loss to the next one: nodes, and the window at the loss; null where there will be none.
  function cycleFrom(share, control, floor, peak) {
    var top = Math.min(share.brim, share.cap);
    var endless = share.spacing === Infinity;
    var until;
    if (floor >= top) {
      if (share.cap <= share.brim && endless) { return { nodes: [[0, share.cap]], last: null }; }
      until = share.rtt * Math.max(1, top / share.pipe);
      if (share.cap > share.brim) { return { nodes: [[0, top], [until, top]], last: floor }; }
    }
    function grown(time) { return growths[control](share, floor, peak, time); }
    until = share.spacing * share.rtt / Math.min(floor, share.pipe);
    if (floor >= top) { until = 0; } else if (until === Infinity || grown(until) >= top) {
      until = first(function (time) { return grown(time) - top; }, until, share.rtt);
    }
    var nodes = [];
    for (var n = 0; n <= (until ? known.nodes : 0); n += 1) {
      var time = until * n / known.nodes;
      nodes.push([time, Math.min(grown(time), top)]);
    }
    var sent = 0;
    for (var i = 1; i < nodes.length; i += 1) {
      var t0 = nodes[i - 1][0];
      var w0 = nodes[i - 1][1];
      var t1 = nodes[i][0];
      var w1 = nodes[i][1];
      var more = (t1 - t0) / share.rtt * (Math.min(w0, share.pipe) + Math.min(w1, share.pipe)) / 2;
      if (sent + more >= share.spacing) {
        var part = (share.spacing - sent) / more;
        part += part * (1 - part) * (w1 - w0) / (w1 + w0);
        var last = w0 + (w1 - w0) * part;
        return { nodes: nodes.slice(0, i).concat([[t0 + (t1 - t0) * part, last]]), last: last };
      }
      sent += more;
    }
    if (share.cap > share.brim) { return { nodes: nodes, last: top }; }
    if (endless) { return { nodes: nodes, last: null }; }
    var flat = (share.spacing - sent) * share.rtt / Math.min(top, share.pipe);
    return { nodes: nodes.concat([[nodes[nodes.length - 1][0] + flat, top]]), last: top };
  }

  function joined(one, other) {
    var begin = one[one.length - 1][0];
    return one.concat(other.map(function (node) { return [begin + node[0], node[1]]; }));
  }

  function curveOf(share, control) {
    if (control === "bbr") { return bbr(share); }
    var start = slowStart(share, control);
    var rise = start.nodes;
    var floor = start.floor;
    var peak = start.peak;
    if (start.steady) { return { rise: rise, cycle: [[0, floor]] }; }
    var before = null;
    var nodes = [];
    for (var n = 0; n < known.mostCycles; n += 1) {
      var found = cycleFrom(share, control, floor, peak);
      var last = found.last;
      nodes = found.nodes;
      if (last === null) { return { rise: joined(rise, nodes), cycle: [[0, nodes[nodes.length - 1][1]]] }; }
      if (before !== null && Math.abs(last - before) <= known.alike * before) { break; }
      peak = control === "cubic" && before !== null && last < before * (1 - known.alike) ? last * known.fastConvergence : last;
      floor = Math.max(known.leastWindow, keeps(control, share, last) * last);
      rise = joined(rise, nodes);
      before = last;
    }
    return { rise: rise, cycle: nodes };
  }

  // --- a setting -----------------------------------------------------------------------------------------------------------

  // A stream's part of the path, in packets.
  function shareOf(at) {
    function value(key) { return here.value(key, at); }
    var frame = value("mtu") + known.framing;
    var pipe = value("rate") * value("rtt") / (8e9 * frame);
    var held = Math.max(value("queue") * here.figure(data.figures.bdp, at) / (value("mtu") + known.queuedFrame), known.leastQueue);
    var target = known.targets[value("discipline")];
    if (target) { held = Math.min(held, Math.max(target * value("rate") / 8 / frame, 1)); }
    var part = pipe / value("streams");
    var brim = value("control") === "bbr" ? part : (pipe + held) / value("streams");
    var cap = Math.max(1, Math.floor(value("window") / here.figure(data.figures.mss, at)));
    if (cap <= part) { brim = part; } else if (cap >= 2 * brim) { cap = Infinity; }
    return { rtt: value("rtt") / 1e9, pipe: part, brim: brim, cap: cap, spacing: value("loss") ? 1 / value("loss") : Infinity,
      control: value("control") };
  }

  // ∫ min(w, pipe) / pipe over nodes, up to a time.
  function area(nodes, pipe, until) {
    var total = 0;
    for (var i = 1; i < nodes.length && nodes[i - 1][0] < until; i += 1) {
      var one = nodes[i - 1];
      var other = nodes[i];
      var end = Math.min(other[0], until);
      var last = end === other[0] ? other[1] : one[1] + (other[1] - one[1]) * (end - one[0]) / (other[0] - one[0]);
      total += (end - one[0]) * (Math.min(one[1], pipe) + Math.min(last, pipe));
    }
    return total / 2 / pipe;
  }

  function longLevel(curve, pipe) {
    var period = curve.cycle[curve.cycle.length - 1][0];
    return period > 0 ? area(curve.cycle, pipe, period) / period : Math.min(curve.cycle[0][1] / pipe, 1);
  }

  function filled(curve, pipe, until) {
    var rest = until - curve.rise[curve.rise.length - 1][0];
    var total = area(curve.rise, pipe, until);
    if (rest <= 0) { return total; }
    var period = curve.cycle[curve.cycle.length - 1][0];
    if (period <= 0) { return total + rest * longLevel(curve, pipe); }
    return total + Math.floor(rest / period) * period * longLevel(curve, pipe) + area(curve.cycle, pipe, rest % period);
  }

  function boundOf(curve, share, level) {
    if (level >= known.share) { return known.bounds.line; }
    if (level * share.pipe >= known.share * share.cap) { return known.bounds.window; }
    var peak = Math.max.apply(null, curve.cycle.map(function (node) { return node[1]; }));
    return share.spacing < Infinity && peak < share.brim ? known.bounds.loss : known.bounds.queue;
  }

  // Nodes as they are drawn: one more wherever the pipe becomes full, where goodput has its corner.
  function drawn(nodes, pipe, full) {
    var found = [nodes[0]];
    for (var i = 1; i < nodes.length; i += 1) {
      var one = nodes[i - 1];
      var other = nodes[i];
      if ((one[1] - pipe) * (other[1] - pipe) < 0) {
        found.push([one[0] + (other[0] - one[0]) * (pipe - one[1]) / (other[1] - one[1]), pipe]);
      }
      found.push(other);
    }
    return found.map(function (node) {
      var level = Math.min(node[1] / pipe, 1);
      return { time: node[0], goodput: full * level, level: level, queue: Math.max(0, node[1] / pipe - 1) };
    });
  }

  // What theory says at a setting: mean and long-run goodput in bit/s, what binds, and the nodes over time.
  here.theory = function (at) {
    var share = shareOf(at);
    var curve = curveOf(share, share.control);
    if (share.control !== "bbr" && share.spacing < Infinity) { // losses may keep it from ever feeling queue and window
      var free = curveOf(Object.assign({}, share, { brim: Infinity, cap: Infinity }), share.control);
      var top = Math.max.apply(null, free.rise.concat(free.cycle).map(function (node) { return node[1]; }));
      if (top <= Math.min(share.brim, share.cap)) { curve = free; }
    }
    var full = here.figure(data.figures.lineRate, at);
    var level = longLevel(curve, share.pipe);
    return {
      mean: full * (filled(curve, share.pipe, data.mean[1]) - filled(curve, share.pipe, data.mean[0])) / (data.mean[1] - data.mean[0]),
      long: full * level,
      bound: boundOf(curve, share, level),
      rise: drawn(curve.rise, share.pipe, full),
      cycle: drawn(curve.cycle, share.pipe, full),
    };
  };
})(window.landspeed);
