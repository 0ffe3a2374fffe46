// One line that says why a stream stalls, from the server's doctor.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import { readable } from "../format.js";
import { act } from "./act.js";

let asked = 0; // how often: the line is of the latest

export async function examine(name) {
  const mine = ++asked;
  const say = (text) => {
    if (mine !== asked) return;
    setText(byId("findings"), text && `${readable(name)}: ${text}`);
    byId("findings").hidden = !text;
  };
  say("is looked at for four seconds.");
  const answer = await act(() => api.doctor(name), "");
  if (!answer) say("");
  else if (answer.findings.length === 0) say("it is well.");
  else say(`${answer.findings.map(({ session, says }) => (session ? `${session}: ${says}` : says)).join("; ")}.`);
}
