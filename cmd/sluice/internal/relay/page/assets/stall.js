// Says in one line why the picture stalls: from what the player knows, and from the server's
// doctor, which is asked only while it stalls.
import * as api from "./api.js";
import { byId, setText } from "./dom.js";

const still = 2000; // ms without a movement that are a stall
const short = 500; // ms that are a short one
const [often, within] = [3, 20_000]; // so many short ones, in so many ms, are a stall too
const again = 15_000; // ms between two questions while it lasts

const reasons = {
  no_publisher: "the publisher has gone.",
  encoder_stopped: "the publisher is connected, and its encoder sends nothing.",
  encoder_slow: "the publisher’s encoder is slower than real time.",
  publisher_line: "the publisher’s line is too slow, or stops again and again.",
  server_processor: "the server has too much to do.",
  server_memory: "the server’s memory is full.",
  server_line: "the server’s line is full.",
};

let name = ""; // of the stream that plays
let shorts = []; // when short stalls ended
let longest = 0; // ms, of the standstill that goes on
let asked = -Infinity; // when the doctor was
let question = 0; // the latest: answers to others are old
let quiet = 0; // when the last stall was over

const line = byId("why");

function say(text) {
  setText(line, text && `The picture stalls: ${text}`);
  line.hidden = !text;
}

// reset forgets everything: another stream is shown, or none.
export function reset() {
  [name, shorts, longest, asked] = ["", [], 0, -Infinity];
  question++;
  say("");
}

// here is the reason that the player knows itself, or "".
function here(video, stream) {
  const { buffered } = video;
  const ahead = buffered.length ? buffered.end(buffered.length - 1) - video.currentTime : 0;
  if (!navigator.onLine) return "this device has no network.";
  if (stream?.state === "grace") return reasons.no_publisher;
  if (ahead > 1 && video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return "this device does not show in time what it has got: it has too much to do.";
  return "";
}

async function ask(now) {
  asked = now;
  const mine = ++question;
  let text;
  try {
    const { findings } = await api.doctor(name);
    // Of viewers' lines only this one matters here, and it is known to be bad.
    const found = findings.find(({ code }) => reasons[code]);
    text = found ? reasons[found.code] : "the stream is well at the server, so the line to this device is too slow, or has stopped.";
  } catch (err) {
    if (err.refused) text = "the publisher has stopped sending, or a line is too slow.";
    else if (err.status === 404) text = reasons.no_publisher;
    else text = err.status ? "" : "this device does not reach the server.";
  }
  if (mine === question) say(text);
}

// look is called a few times a second while a stream plays, with the time in ms for which
// the picture has not moved. Of what was recorded the server knows nothing.
export function look(playing, since, video, stream, recorded) {
  const now = performance.now();
  if (playing !== name) {
    reset();
    name = playing;
  }
  if (since < longest && longest > short) shorts.push(now);
  longest = since;
  shorts = shorts.filter((at) => now - at < within);
  if (since < still && shorts.length < often) {
    question++; // an answer would be of what is over
    if (now - quiet > 5000) {
      asked = -Infinity;
      say("");
    }
    return;
  }
  quiet = now;
  const known = here(video, stream);
  if (known || recorded) say(known);
  else if (now - asked > again) ask(now);
}
