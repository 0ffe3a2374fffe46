// One line that says why a stream stalls, from the server's doctor.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import { readable } from "../format.js";
import { act } from "./act.js";

let asked = 0; // how often: the line is of the latest

export async function examine(name) {
  const mine = ++asked;
  const say = (text, bad = false) => {
    if (mine !== asked) return;
    const line = byId("findings");
    setText(line, text && `${readable(name)}: ${text}`);
    line.hidden = !text;
    line.toggleAttribute("data-well", !bad);
  };
  say("is looked at for four seconds.");
  const answer = await act(() => api.doctor(name), "");
  if (!answer) say("");
  else if (answer.findings.length === 0) say("nothing is wrong.");
  else say(`${answer.findings.map(({ session, says }) => (session ? `${session}: ${says}` : says)).join("; ")}.`, true);
}
