// The lines to push and to play a stream, with the host by which the browser
// came and the ports that the server has.
import { arrange } from "./dom.js";
import { copyLine } from "./copy.js";
import { carried, classic, without } from "./ways.js";

// A name is pasted into a shell, where it must stay one word and run nothing.
// Control characters would act on the terminal itself.
const visible = (s) => s.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (c) => encodeURIComponent(c));

// quote makes one word for a POSIX shell; what has no special meaning anywhere
// stays bare, and what is harmless in double quotes is in those, which cmd.exe knows too.
export function quote(word) {
  if (/^[\w.~/:@=,+%\[\]-]+$/.test(word) && !word.startsWith("-")) return word;
  if (/^[\w.~/:@=,+%\[\]?&; ()-]+$/.test(word)) return `"${word}"`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

// path encodes a name for an http URL, segment by segment, so that no shell
// sees anything special in it.
export const path = (name) =>
  name.split("/").map((s) => encodeURIComponent(s).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase())).join("/");

const token = (needed, given) => (given ? `?token=${encodeURIComponent(given)}` : needed ? "?token=TOKEN" : "");

// addresses of a stream. RTMP has its names as they are, not percent-encoded.
export function addresses(name, config, playToken = "") {
  const host = location.hostname || "localhost";
  const at = (scheme, port, usual) => (port ? `${scheme}://${host}${port === usual ? "" : `:${port}`}` : "");
  const rtmp = at("rtmp", config.rtmp_port, 1935) || at("rtmps", config.rtmps_port, 443);
  const raw = visible(name);
  const slash = raw.indexOf("/");
  const play = token(config.protect_play, playToken);
  const push = token(config.protect_publish, "");
  const flv = `${location.origin}/${path(name)}.flv`;
  const rtsp = (base, query) => base && `${base}/${raw}${query}`;
  const rtspBase = at("rtsp", config.rtsp_port, 554);
  // The whole name of a stream is one parameter.
  const srt = (mode, query) =>
    config.srt_port ? `srt://${host}:${config.srt_port}?streamid=${mode}:${path(name)}${encodeURIComponent(query)}${config.srt_encrypted ? "&passphrase=PASSPHRASE" : ""}` : "";
  return {
    push: rtmp && `${rtmp}/${raw}${push}`,
    server: rtmp && `${rtmp}/${slash < 0 ? "" : raw.slice(0, slash)}`,
    key: raw.slice(slash + 1) + push,
    post: flv + push,
    whip: config.webrtc ? `${location.origin}/${path(name)}/whip${push}` : "",
    rtspPush: rtsp(rtspBase, push) || rtsp(at("rtsps", config.rtsps_port, 322), push),
    srtPush: srt("publish", push),
    rtmp: rtmp && `${rtmp}/${raw}${play}`,
    rtmps: config.rtmp_port && config.rtmps_port ? `${at("rtmps", config.rtmps_port, 443)}/${raw}${play}` : "",
    flv: flv + play,
    ws: flv.replace(/^http/, "ws") + play,
    hls: config.hls ? `${location.origin}/${path(name)}.m3u8${play}` : "",
    whep: config.webrtc ? `${location.origin}/${path(name)}/whep${play}` : "",
    rtsp: rtsp(rtspBase, play),
    rtsps: rtsp(at("rtsps", config.rtsps_port, 322), play),
    srt: srt("read", play),
    page: `${location.origin}/?stream=${path(name)}${playToken ? `&token=${encodeURIComponent(playToken)}` : ""}`,
  };
}

// pushLines and playLines show lines in an element; the returned function
// changes the stream that they are for.
export function pushLines(parent, { test = false } = {}) {
  const file = copyLine("ffmpeg, a file again and again", { hint: "With other codecs than H.264 and AAC in the file, say -c:v libx264 -c:a aac in place of -c copy." });
  const pattern = copyLine("ffmpeg, a test picture: needs no file and no camera");
  const server = copyLine("OBS: Settings, Stream, Service “Custom”, Server");
  const key = copyLine("OBS: Stream Key");
  const whip = copyLine("OBS: Settings, Stream, Service “WHIP”, Server");
  const rtsp = copyLine("ffmpeg by RTSP");
  const srt = copyLine("ffmpeg by SRT");
  const token = copyLine("A token for it, on the server");
  return (name, config) => {
    const a = addresses(name, config);
    const to = quote(a.push || a.post);
    const form = a.push ? "" : "-method POST ";
    const send = "ffmpeg -re -stream_loop -1 -i video.mp4 -c copy -f ";
    file.update(`${send}flv ${form}${to}`);
    whip.update(a.whip);
    rtsp.update(`${send}rtsp ${quote(a.rtspPush)}`);
    srt.update(`${send}mpegts ${quote(a.srtPush)}`);
    pattern.update("ffmpeg -re -f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine=frequency=440 " +
      `-c:v libx264 -preset veryfast -tune zerolatency -g 60 -pix_fmt yuv420p -c:a aac -f flv ${form}${to}`);
    server.update(a.server);
    key.update(a.key);
    token.update(`sluice token --publish ${quote(visible(name))} --expires 24h`);
    arrange(parent, [test && pattern, file, a.push && server, a.push && key, a.whip && whip, a.rtspPush && rtsp, a.srtPush && srt, config.protect_publish && token].filter(Boolean));
  };
}

export function playLines(parent) {
  const page = copyLine("Browser", { link: true });
  const ffplay = copyLine("ffplay");
  const vlc = copyLine("VLC: Media, Open Network Stream");
  const rtmp = copyLine("RTMP");
  const rtmps = copyLine("RTMPS");
  const others = {
    hls: copyLine("HLS: phones, televisions, browsers"),
    whep: copyLine("WebRTC by WHEP"),
    rtsp: copyLine("RTSP"),
    rtsps: copyLine("RTSPS"),
    srt: copyLine("SRT"),
    ws: copyLine("FLV over WebSocket, for players in pages"),
  };
  const token = copyLine("A token for it, on the server");
  return (name, config, playToken, stream = null) => {
    const a = addresses(name, config, playToken);
    const offered = Object.entries(others).filter(([way]) => a[way] && carried(way === "rtsps" ? "rtsp" : way, stream).length > 0);
    for (const [way, line] of offered) {
      line.update(a[way]);
      const left = without(way === "rtsps" ? "rtsp" : way, stream);
      line.say(left && `Without ${left}: this protocol has no form for its codec.`);
    }
    page.update(a.page);
    ffplay.update(`ffplay ${quote(a.flv)}`);
    const way = classic(stream) ? "flv" : ["hls", "rtsp"].find((way) => a[way] && !without(way, stream));
    vlc.update(a[way ?? "flv"]);
    rtmp.update(a.rtmp);
    rtmps.update(a.rtmps);
    token.update(`sluice token --play ${quote(visible(name))} --expires 24h`);
    arrange(parent, [page, ffplay, vlc, a.rtmp && rtmp, a.rtmps && rtmps, ...offered.map(([, line]) => line), config.protect_play && !playToken && token].filter(Boolean));
  };
}
