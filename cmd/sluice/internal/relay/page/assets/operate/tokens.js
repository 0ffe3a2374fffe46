// Making tokens, with the lines to copy.
import * as api from "../api.js";
import { copyLine } from "../copy.js";
import { byId, element } from "../dom.js";
import { path } from "../lines.js";
import { act } from "./act.js";

const form = byId("token-form");

export function start(config) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { action, stream, id } = form.elements;
    const t = await act(() => api.makeToken({ action: action.value, stream: stream.value.trim(), for: form.elements.for.value.trim(), id: id.value.trim() }), "The token was made.");
    if (!t) return;
    const host = location.hostname, web = `${location.origin}/${path(t.stream)}.flv?token=${t.token}`;
    const port = config.rtmp_port === 1935 ? "" : `:${config.rtmp_port}`;
    const lines = [["Token", t.token]];
    if (config.rtmp_port) lines.push([t.action === "publish" ? "Publish by RTMP" : "Watch by RTMP", `rtmp://${host}${port}/${path(t.stream)}?token=${t.token}`]);
    lines.push([t.action === "publish" ? "Publish by HTTP" : "Watch by HTTP", web]);
    if (t.action === "play") lines.push(["Watch on the page", `${location.origin}/?stream=${path(t.stream)}&token=${t.token}`]);
    byId("token-lines").replaceChildren(
      element("p", {}, `${t.id} may ${t.action} ${t.stream} until ${new Date(t.expires).toLocaleString()}. The server does not keep it: copy it now.`),
      ...lines.map(([label, text]) => {
        const line = copyLine(label);
        line.update(text);
        return line;
      }));
  });
}
