/* A browser starts no worker for a page that was opened from disk, and the search is one.
   Such a page runs the search in a hidden frame of its own instead. */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      this.ready = new Promise((done) => { script.onload = done; });
      this.frame = frame;
      script.src = address;
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
