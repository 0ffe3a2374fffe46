// A picture of the clock: 20 bits of milliseconds in two rows of ten cells, and the same
// bits inverted below. A picture counts when the lower rows contradict the upper ones
// everywhere.
window.glass = (() => {
  const width = 320, height = 180, columns = 10, bits = 20, range = 2 ** bits;
  const cellWidth = width / columns, cellHeight = height * columns / bits / 2;
  const clock = () => performance.timeOrigin + performance.now();
  const cell = (i) => [(i % columns) * cellWidth, Math.floor(i / columns) * cellHeight];
  let delays = [], unreadable = 0, failure = "", chosen = "", pc;

  function draw(context) {
    const now = Math.floor(clock()) % range;
    for (let i = 0; i < 2 * bits; i++) {
      const one = ((now >> (i % bits)) & 1) === (i < bits ? 1 : 0);
      context.fillStyle = one ? "#fff" : "#000";
      context.fillRect(...cell(i), cellWidth, cellHeight);
    }
  }

  // read returns the time in a picture, -1 for one that cannot be read.
  function read(context) {
    const { data } = context.getImageData(0, 0, width, height);
    const lit = (i) => {
      const [left, top] = cell(i).map(Math.floor);
      let sum = 0;
      for (let y = 4; y < 12; y++) for (let x = 4; x < 12; x++) sum += data[4 * ((top + 4 + y) * width + left + 4 + x)];
      return sum > 64 * 128;
    };
    let time = 0;
    for (let i = 0; i < bits; i++) {
      if (lit(i) === lit(i + bits)) return -1;
      if (lit(i)) time += 2 ** i;
    }
    return time;
  }

  function canvas() {
    const c = document.createElement("canvas");
    c.width = width;
    c.height = height;
    return [c, c.getContext("2d", { willReadFrequently: true })];
  }

  function look(video, context) {
    video.requestVideoFrameCallback(() => {
      const now = clock();
      context.drawImage(video, 0, 0, width, height);
      const time = read(context);
      if (time < 0) unreadable++;
      else delays.push((now % range - time + range) % range);
      look(video, context);
    });
  }

  async function begin(endpoint, codec) {
    const [source, context] = canvas();
    const frame = () => { draw(context); requestAnimationFrame(frame); };
    frame();
    const [track] = source.captureStream(30).getVideoTracks();
    pc = new RTCPeerConnection();
    const transceiver = pc.addTransceiver(track, { direction: "sendonly" });
    transceiver.setCodecPreferences(formats(codec));
    const offer = await pc.createOffer();
    await pc.setLocalDescription(offer);
    const response = await fetch(endpoint, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: offer.sdp });
    const sdp = await response.text();
    if (!response.ok) throw new Error(sdp);
    chosen = sdp.match(/a=rtpmap:\d+ (\w+)/)[1];
    await pc.setRemoteDescription({ type: "answer", sdp });
    look(document.getElementById("video"), canvas()[1]);
  }

  const formats = (codec) => RTCRtpSender.getCapabilities("video").codecs.filter((c) => c.mimeType === "video/" + codec);
  return {
    encodes: (codec) => formats(codec).length > 0,
    publish: (endpoint, codec) => { begin(endpoint, codec).catch((err) => { failure = String(err); }); },
    restart: () => { delays = []; unreadable = 0; },
    state: () => ({ delays, unreadable, failure, codec: chosen }),
  };
})();
