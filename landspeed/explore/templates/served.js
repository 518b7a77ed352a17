// With `landspeed explore --serve`: ask for a run, see how far it is, cancel it, add its points.
(function (here) {
  "use strict";
  if (!here.data.served) { return; }
  var list = document.getElementById("runs");
  var note = document.getElementById("served-note");
  var states = { waiting: "waits for a core", cancelled: "cancelled", failed: "failed", done: "measured" };
  var items = {};

  function post(path, body) {
    return fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body || {}) })
      .then(function (response) {
        return response.json().then(function (told) {
          if (!response.ok) { throw new Error(told.error || "status " + response.status); }
          return told;
        });
      });
  }
  function complain(error) { note.textContent = "Not possible: " + error.message; }

  document.getElementById("ask").addEventListener("click", function () {
    note.textContent = "asked";
    post("runs", { at: here.chosen() }).then(function (told) {
      note.textContent = told.state === "done" ? "This setting was measured before." : "It is under way; you can go on.";
    }).catch(complain);
  });

  function item(run) {
    var made = document.createElement("li");
    made.innerHTML = '<div class="row"><button type="button" class="go"></button><button type="button" class="cancel">Cancel</button></div>'
      + '<progress max="1"></progress><div class="state" aria-live="off"></div>';
    var name = here.describe(run.at);
    made.querySelector(".go").textContent = name;
    made.querySelector(".go").addEventListener("click", function () { here.go(run.at); });
    made.querySelector(".cancel").setAttribute("aria-label", "Cancel: " + name);
    made.querySelector("progress").setAttribute("aria-label", "How far it is: " + name);
    made.querySelector(".cancel").addEventListener("click", function () { post("runs/" + run.id + "/cancel").catch(complain); });
    made.dataset.run = run.id;
    list.prepend(made);
    return made;
  }

  function update(run) {
    var made = items[run.id] || (items[run.id] = item(run));
    var ended = run.state !== "running" && run.state !== "waiting";
    if (made.dataset.state === run.state && ended) { return; }
    made.dataset.state = run.state;
    made.querySelector(".cancel").hidden = ended;
    made.querySelector("progress").hidden = ended;
    made.querySelector("progress").value = run.share;
    var state = made.querySelector(".state");
    state.textContent = run.state === "running" ? run.words : states[run.state] + (run.error ? ": " + run.error : "");
    if (run.point) {
      here.addPoint(run.point);
      state.textContent = "measured " + here.rate(run.point.mean) + " ";
      var link = document.createElement("a");
      link.href = "bundles/" + run.point.key + "/report.html";
      link.target = "_blank";
      link.textContent = "report";
      state.append(link);
    }
    if (ended) { note.textContent = here.describe(run.at) + ": " + states[run.state]; }
  }

  var news = new EventSource("news");
  news.addEventListener("message", function (event) { JSON.parse(event.data).forEach(update); });
  news.addEventListener("error", function () { note.textContent = "The server does not answer; it may have been ended."; });
  news.addEventListener("open", function () {
    if (note.textContent.indexOf("does not answer") >= 0) { note.textContent = "The server answers again."; }
  });
})(window.landspeed);
