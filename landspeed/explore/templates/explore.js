// What is chosen, and everything that follows from it: sliders, answer, pictures, table.
(function (here) {
  "use strict";
  var data = here.data;
  var at = here.start();
  var along = "window";
  var span = data.duration;
  var playing = false;
  var still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  var theory = null;
  var pipe = here.makePipe(document.getElementById("pipe"));
  var momentPlace = 200;
  var dirty = false;

  function by(id) { return document.getElementById(id); }
  function textOf(key, place) { return data.sliders[here.number[key]].texts[place]; }
  function chosenText(key) { return textOf(key, at[here.number[key]]); }
  function moment() { return span * momentPlace / 200; }
  function tell(id, text) { if (by(id).textContent !== text) { by(id).textContent = text; } }

  function same(one, other) { return one.every(function (each, i) { return each === other[i]; }); }
  function measuredAt(places) { return data.points.find(function (point) { return same(point.at, places); }); }
  function difference(run, mean) {
    var part = 100 * (run.mean / mean - 1);
    return (part < 0 ? "−" : "+") + Math.abs(part).toFixed(1) + "\u00a0%";
  }

  // How far two settings are from each other: steps of sliders; another word counts as two (explore/grid.py).
  function steps(one, other) {
    return one.reduce(function (sum, place, i) {
      return sum + (data.sliders[i].word ? 2 * Number(place !== other[i]) : Math.abs(place - other[i]));
    }, 0);
  }
  function nearest(places) {
    return data.points.reduce(function (best, point) {
      var far = steps(point.at, places);
      return !best || far < best.far ? { point: point, far: far } : best;
    }, null);
  }
  function elsewhere(point) { // its sliders that stand elsewhere
    return point.at.map(function (place, i) {
      var slider = data.sliders[i];
      return place === at[i] ? "" : slider.label.replace(/^[A-Z](?=[a-z])/, function (letter) { return letter.toLowerCase(); }) + " " + slider.texts[place];
    }).filter(Boolean).join(", ");
  }

  function limits(places) {
    var loss = here.figure(data.figures.loss, places);
    var found = [{ name: "line rate", level: here.figure(data.figures.lineRate, places) },
      { name: "window / RTT", level: here.figure(data.figures.window, places) }];
    return loss === null ? found : found.concat([{ name: "loss (Reno)", level: loss }]);
  }

  // --- pictures --------------------------------------------------------------------------------------------------------

  function loadedAt(places, curve) {
    return here.loaded(curve, here.value("rtt", places) / 1e6, data.mean[0], data.mean[1]);
  }
  function milliseconds(value) { return value === null ? "–" : Number(value.toPrecision(4)) + "\u00a0ms"; }

  function answer() {
    var run = measuredAt(at);
    tell("theory-delay", "Round trip under load " + milliseconds(loadedAt(at, theory)) + ", idle " + chosenText("rtt") + ".");
    tell("measured-delay", run && run.loaded !== null ? "Round trip under load " + milliseconds(run.loaded) + "." : "");
    tell("theory-mean", here.rate(theory.mean));
    var long = Math.abs(theory.long / theory.mean - 1) > 0.03 ? " In the long run " + here.rate(theory.long) + "." : "";
    tell("theory-bound", "Expected limit in the long run: " + data.boundWords[theory.bound] + "." + long);
    tell("measured-mean", run ? here.rate(run.mean) : "–");
    var resent = run && run.resent !== null ? ", " + run.resent + " packets sent again" : "";
    var chance = at[here.number.loss] > 0 ? ". One seed: with random loss another one gives another figure" : "";
    tell("measured-note", run ? difference(run, theory.mean) + " from theory" + resent + (run.bound ? "; limit found: " + run.bound : "") + chance
      : data.served ? "not measured yet: run it" : "no run at this setting");
    near(run);
    say(run);
  }

  function near(run) {
    var found = run ? null : nearest(at);
    by("near").hidden = !found;
    if (!found) { return; }
    by("near-go").textContent = elsewhere(found.point);
    tell("near-far", found.far === 1 ? "one step of a slider away" : found.far + " steps of sliders away");
    tell("near-mean", here.rate(found.point.mean) + ", " + difference(found.point, here.theory(found.point.at).mean) + " from its theory");
  }

  var waiting = 0;
  function say(run) { // for those who listen: once the sliders rest
    window.clearTimeout(waiting);
    waiting = window.setTimeout(function () {
      tell("said", "Theory " + here.rate(theory.mean) + (run ? ", measured " + here.rate(run.mean) : ", not measured"));
    }, 500);
  }

  function drawPipe() {
    var state = here.moment(theory, moment());
    var packets = here.figure(data.figures.packets, at);
    pipe.draw({
      level: state.level, queue: state.queue, capacity: here.value("queue", at), window: here.figure(data.figures.windowBdp, at),
      rate: chosenText("rate"), rtt: chosenText("rtt"), bdp: here.figure(data.bdpText, at), queueText: chosenText("queue"),
      windowText: (Number(chosenText("streams")) > 1 ? chosenText("streams") + " × " : "") + chosenText("window"),
    });
    var dot = pipe.dot(packets);
    tell("moment-text", here.time(moment()));
    tell("pipe-text", "At " + here.time(moment()) + " the line is used to " + (100 * state.level).toPrecision(3) + "\u00a0%, and "
      + (state.queue > 0 ? state.queue.toPrecision(2) + " BDP wait in the queue. " : "the queue is empty. ")
      + (dot >= 2 ? "Each mark is about " + Number(dot.toPrecision(2)).toLocaleString("en") + " packets. " : "")
      + "Shown " + pipe.slower(here.value("rtt", at) / 1e6) + " times slower than it is.");
  }

  function drawTime() {
    var run = measuredAt(at);
    var unit = here.drawTime(by("time"), { theory: theory, limits: limits(at), run: run, span: span, moment: moment() });
    tell("time-unit", "(" + unit + ")");
    tell("time-text", "Orange: theory" + (run ? "; blue: measured." : "; nothing is measured at this setting.")
      + " From 10 to 20 s theory has " + here.rate(theory.mean) + ", in the long run " + here.rate(theory.long) + ".");
  }

  function drawAlong() {
    var which = here.number[along];
    var slider = data.sliders[which];
    var settings = slider.texts.map(function (_, place) { var moved = at.slice(); moved[which] = place; return moved; });
    var each = settings.map(limits);
    var names = each.map(function (found) { return found.length; });
    var longest = each[names.indexOf(Math.max.apply(null, names))];
    var points = [];
    data.points.forEach(function (point) {
      var apart = steps(point.at, settings[point.at[which]]);
      if (apart > 1) { return; }
      points.push({ place: point.at[which], mean: point.mean, exact: apart === 0,
        text: slider.texts[point.at[which]] + ": " + here.rate(point.mean) + (apart ? " (" + elsewhere(point) + ")" : ""),
        choose: function () { here.go(point.at); } });
    });
    var means = settings.map(function (places) { return here.theory(places).mean; });
    var unit = here.drawAlong(by("along"), {
      texts: slider.texts, here: at[which], word: slider.word, theory: means, points: points,
      limits: longest.map(function (limit, i) {
        return { name: limit.name, levels: each.map(function (found) { return found[i] ? found[i].level : null; }) };
      }),
    });
    tell("along-title", "");
    by("along-title").append("Goodput over " + slider.label.toLowerCase().replace("mtu", "MTU") + " ", by("along-unit") || unitPlace);
    tell("along-unit", "(" + unit + ")");
    var exact = points.filter(function (point) { return point.exact; }).length;
    tell("along-text", "Means from 10 to 20 s. Orange: theory. Full points: " + exact + " measured with all other sliders as chosen; open points: another slider one step away. A point that is pressed is chosen.");
  }
  var unitPlace = by("along-unit");

  function table() {
    tell("count", String(data.points.length));
    by("table").tBodies[0].replaceChildren.apply(by("table").tBodies[0], data.points.map(function (point) {
      var row = document.createElement("tr");
      var mean = here.theory(point.at).mean;
      point.at.forEach(function (place, i) { row.insertCell().textContent = data.sliders[i].texts[place]; row.lastChild.className = "word"; });
      var curve = here.theory(point.at);
      [here.rate(mean), here.rate(point.mean), difference(point, mean), milliseconds(loadedAt(point.at, curve)), milliseconds(point.loaded), point.resent === null ? "–" : String(point.resent)]
        .forEach(function (text) { row.insertCell().textContent = text; });
      row.insertCell().textContent = point.bound || "–";
      row.lastChild.className = "word";
      return row;
    }));
  }

  function drawAll() {
    theory = here.theory(at);
    answer();
    drawPipe();
    drawTime();
    drawAlong();
  }

  function soon() {
    if (dirty) { return; }
    dirty = true;
    window.requestAnimationFrame(function () { dirty = false; drawAll(); });
  }

  // --- what can be chosen ----------------------------------------------------------------------------------------------

  function choose(which, place) {
    at[which] = place;
    show(which);
    window.history.replaceState(null, "", "#" + at.join("."));
  }

  function show(which) {
    var slider = data.sliders[which];
    var input = by("s-" + slider.key);
    input.value = String(at[which]);
    if (!slider.word) {
      tell("o-" + slider.key, slider.texts[at[which]]);
      input.setAttribute("aria-valuetext", slider.texts[at[which]]);
    }
  }

  function fromAddress() {
    var places = window.location.hash.slice(1).split(".").map(Number);
    var fits = places.length === at.length && places.every(function (place, i) {
      return Number.isInteger(place) && place >= 0 && place < data.sliders[i].texts.length;
    });
    if (fits) { at = places; }
    at.forEach(function (_, which) { show(which); });
  }

  data.sliders.forEach(function (slider, which) {
    by("s-" + slider.key).addEventListener("input", function (event) {
      choose(which, Number(event.target.value));
      if (slider.key !== "control" && slider.key !== "discipline") { along = slider.key; by("along-key").value = along; }
      soon();
    });
  });
  by("near-go").addEventListener("click", function () { here.go(nearest(at).point.at); });
  by("reset").addEventListener("click", function () {
    here.start().forEach(function (place, which) { choose(which, place); });
    soon();
  });
  by("span").addEventListener("change", function (event) { span = Number(event.target.value); soon(); });
  by("along-key").addEventListener("change", function (event) { along = event.target.value; soon(); });
  by("moment").addEventListener("input", function (event) { momentPlace = Number(event.target.value); stop(); soon(); });
  by("play").addEventListener("click", function () {
    if (playing) { stop(); return; }
    playing = true;
    if (momentPlace >= 200) { momentPlace = 0; }
    by("play").setAttribute("aria-pressed", "true");
  });
  by("still").addEventListener("click", function () { still = !still; by("still").setAttribute("aria-pressed", String(still)); });
  window.addEventListener("hashchange", function () { fromAddress(); soon(); });
  window.addEventListener("beforeprint", drawAll);
  new ResizeObserver(soon).observe(by("time"));

  function stop() { playing = false; by("play").setAttribute("aria-pressed", "false"); }

  // --- motion ----------------------------------------------------------------------------------------------------------

  var PLAY_S = 20; // the span that is shown, from its start to its end
  var before = 0;
  function tick(now) {
    var seconds = Math.min(0.1, (now - before) / 1000);
    before = now;
    if (!still) { pipe.step(seconds); }
    if (playing) {
      momentPlace = Math.min(200, momentPlace + 200 * seconds / PLAY_S);
      by("moment").value = String(momentPlace);
      drawPipe();
      drawTime();
      if (momentPlace >= 200) { stop(); }
    }
    window.requestAnimationFrame(tick);
  }

  // --- for served.js ---------------------------------------------------------------------------------------------------

  here.chosen = function () { return at.slice(); };
  here.addPoint = function (point) {
    data.points = data.points.filter(function (each) { return each.key !== point.key; }).concat([point]);
    table();
    soon();
  };
  here.go = function (places) { places.forEach(function (place, which) { choose(which, place); }); soon(); };
  here.describe = function (places) {
    var usual = here.start();
    var words = places.map(function (place, i) {
      return place === usual[i] ? "" : data.sliders[i].label + " " + data.sliders[i].texts[place];
    }).filter(Boolean);
    return words.join(", ") || "the first setting";
  };

  by("still").setAttribute("aria-pressed", String(still));
  fromAddress();
  drawAll();
  table();
  document.documentElement.dataset.ready = "yes";
  window.requestAnimationFrame(tick);
})(window.landspeed);
