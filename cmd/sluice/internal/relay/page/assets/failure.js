// What went wrong in the player, in words that say what to do.
import { codec } from "./format.js";

// explain makes of an error of mpegts.js {text, again, token}: again says
// whether trying again can help, token whether a token would.
export function explain(type, detail, info, { transport, stream, past }) {
  const status = detail === "HttpStatusCodeInvalid" ? info?.code : 0;
  switch (true) {
    case status === 404 && past:
      return { text: "Nothing was recorded since then, or in a form that this player takes. Choose another time, or live." };
    case status === 404:
      return { text: "Nobody is publishing this stream right now. It starts here when they do.", again: true };
    case status === 401 || status === 403:
      return { text: "The server refused: this stream needs a play token, or the one given is wrong or out of date.", token: true };
    case status === 429 || status === 503:
      return { text: "The server has as many viewers as it may have. Trying again.", again: true };
    case status >= 500:
      return { text: `The server failed (status ${status}). Trying again; its log says more.`, again: true };
    case status > 0:
      return { text: `The server refused (status ${status}).` };
    case type === "NetworkError" && transport === "ws" && detail !== "NoAnswer":
      return { text: "The WebSocket could not be opened or broke off. If it does so again, choose HTTP, which passes proxies that know no WebSocket.", again: true };
    case detail === "NothingCame":
      return { text: "Nothing comes of this stream at the moment. Trying again.", again: true };
    case detail === "NoMedia":
      return { text: "The media connection could not be made. If it does so again, choose HTTP; the server’s operator finds the port and the address of WebRTC in the log.", again: true };
    case type === "NetworkError":
      return { text: "The connection broke off. Trying again.", again: true };
    case detail === "CodecUnsupported" && transport === "whep":
      return { text: `This browser cannot play by WebRTC what the stream has (${codecs(stream)}). Choose HTTP.` };
    case detail === "CodecUnsupported" || detail === "FormatUnsupported" || detail === "MediaMSEError":
      return { text: `This browser cannot play what the stream has (${codecs(stream)}). VLC or ffplay can: the lines are below.` };
    case type === "MediaError":
      return { text: "What came was not FLV that can be played. Trying again.", again: true };
    default:
      return { text: `The player failed: ${info?.msg || detail || type}. Trying again.`, again: true };
  }
}

export function codecs(stream) {
  const names = [stream?.video?.codec, stream?.audio?.codec].filter(Boolean).map(codec);
  return names.length ? names.join(" and ") : "its codecs";
}
