// The pipe: packets on their way to the receiver, acknowledgments on their way back, the queue before the line, and the
// window beside pipe and queue. A round trip is a loop of places; the window says how many of them are taken.
(function (here) {
  "use strict";
  var LOOP = 48; // places of a round trip, half of them there, half back
  var TURN_S = 5; // a round trip on the screen
  var HEIGHT = 236;

  // view: { level, queue: share of the BDP, capacity: the same of a full queue, window: the same, texts… }
  here.makePipe = function (box) {
    var dots = [];
    var view = null;
    var place = null;
    var phase = 0;

    function draw(next) {
      view = next;
      var picture = here.picture(box, HEIGHT);
      var width = picture.width;
      var narrow = width < 520;
      var host = narrow ? 60 : 84;
      var tank = narrow ? 30 : 56;
      var left = host + tank + (narrow ? 18 : 34);
      var right = width - host - 8;
      place = { left: left, right: right, line: 52, back: 106 };
      var add = picture.add;

      [[0, "sender"], [width - host, "receiver"]].forEach(function (each) {
        add("rect", { x: each[0] + 0.5, y: 24.5, width: host - 1, height: 96, rx: 5, class: "host" });
        add("text", { x: each[0] + host / 2, y: 76, "text-anchor": "middle", class: "small" }, each[1]);
      });
      // From the sender to the queue, and the queue itself: as full as it is of what it can hold.
      add("line", { x1: host, x2: left, y1: place.line, y2: place.line, class: "wire" });
      var tankLeft = host + (narrow ? 8 : 16);
      var full = Math.min(1, view.capacity > 0 ? view.queue / view.capacity : 0);
      add("rect", { x: tankLeft, y: 24, width: tank, height: 56, rx: 3, class: "tank" });
      add("rect", { x: tankLeft, y: 24 + 56 * (1 - full), width: tank, height: 56 * full, class: "filled" });
      add("text", { x: tankLeft + tank / 2, y: 16, "text-anchor": "middle", class: "small" }, "queue");
      // The line, and the way back.
      add("rect", { x: left, y: place.line - 20, width: right - left, height: 40, rx: 20, class: "line" });
      add("text", { x: (left + right) / 2, y: 16, "text-anchor": "middle", class: "small" },
        narrow ? view.rate + ", " + view.rtt + " RTT" : "line: " + view.rate + ", round trip " + view.rtt);
      add("rect", { x: left, y: place.back - 7, width: right - left, height: 14, rx: 7, class: "line" });
      add("line", { x1: host, x2: left, y1: place.back, y2: place.back, class: "wire" });
      if (!narrow) { add("text", { x: (left + right) / 2, y: place.back + 22, "text-anchor": "middle", class: "small" }, "acknowledgments"); }
      dots = [];
      var count = view.level > 0 ? Math.max(1, Math.round(view.level * LOOP)) : 0;
      for (var i = 0; i < count; i += 1) {
        dots.push({ at: i / LOOP, packet: add("rect", { width: narrow ? 5 : 9, height: 18, rx: 2, class: "packet" }),
          ack: add("circle", { r: 2.6, cy: place.back, class: "ack" }) });
      }
      move();
      measures(add, width);
    }

    // Below: pipe and queue as one bar, the window as another, to one scale.
    function measures(add, width) {
      var most = Math.max(1 + view.capacity, Math.min(view.window, 2 * (1 + view.capacity)));
      var unit = (width - 4) / most;
      var end = 2 + unit;
      add("rect", { x: 2, y: 150, width: unit, height: 22, class: "bar-pipe" });
      add("rect", { x: end, y: 150, width: Math.max(1, unit * view.capacity), height: 22, class: "bar-queue" });
      var room = unit > 150;
      add("text", { x: room ? 8 : 2, y: room ? 166 : 145, class: room ? "small on" : "small" }, "BDP " + view.bdp);
      if (unit * view.capacity > 90) { add("text", { x: end + 8, y: 166, class: "small on" }, "queue " + view.queueText); }
      var over = view.window > most;
      var long = Math.max(2, Math.min(view.window, most) * unit);
      add("path", { d: "M2 190v18M2 199h" + long + (over ? "m-8-6l8 6l-8 6" : "m0-9v18"), class: "bar-window" });
      add("text", { x: 2, y: 226, class: "small" }, "window " + view.windowText + (over ? ", far more" : ""));
    }

    function move() {
      if (!place) { return; }
      var long = place.right - place.left;
      dots.forEach(function (dot) {
        var at = (dot.at + phase) % 1;
        var there = at < 0.5;
        dot.packet.setAttribute("visibility", there ? "visible" : "hidden");
        dot.ack.setAttribute("visibility", there ? "hidden" : "visible");
        if (there) {
          dot.packet.setAttribute("x", place.left + 6 + 2 * at * (long - 21));
          dot.packet.setAttribute("y", place.line - 9);
        } else { dot.ack.setAttribute("cx", place.right - 6 - 2 * (at - 0.5) * (long - 12)); }
      });
    }

    return {
      draw: draw,
      step: function (seconds) { phase = (phase + seconds / TURN_S) % 1; move(); },
      slower: function (rttMs) { return Math.round(TURN_S * 1000 / rttMs); },
      dot: function (packets) { return packets / LOOP; },
    };
  };
})(window.landspeed);
