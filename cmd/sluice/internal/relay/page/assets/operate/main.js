// The operator's page: asks the API every two seconds and hands what it says to the
// sections.
import * as api from "../api.js";
import { askForToken } from "../ask.js";
import { missing } from "../cluster.js";
import { byId, element } from "../dom.js";
import * as numbers from "../numbers.js";
import { repeat } from "../poll.js";
import "../raw.js";
import * as bans from "./bans.js";
import * as events from "./events.js";
import * as pushes from "./pushes.js";
import * as recordings from "./recordings.js";
import * as sessions from "./sessions.js";
import * as tokens from "./tokens.js";

async function ask() {
  const [known, clients] = await Promise.all([api.streams(false), api.clients(), bans.ask(), pushes.ask(), recordings.ask(), events.ask()]);
  const streams = known?.streams ?? [];
  numbers.server({ ...known, streams });
  sessions.show(streams, clients, known?.now ?? Date.now());
  return missing(known);
}

let refusedOnce = false;
const notice = byId("notice");

async function poll() {
  try {
    notice.textContent = await ask();
    notice.hidden = !notice.textContent;
  } catch (err) {
    notice.hidden = false;
    if (!err.refused) {
      notice.textContent = `${err.message || err} Trying again.`;
      return;
    }
    const give = async () => {
      if (await askForToken("This page is for those who know the server's API token.")) again();
    };
    notice.replaceChildren(api.refusal("This page is for those who know the server's API token. "), element("button", { type: "button", onclick: give }, "Enter it"));
    if (!refusedOnce) {
      refusedOnce = true;
      give();
    }
  }
}

const again = repeat(poll);

let config = { rtmp_port: 1935 };
try {
  config = await api.config();
} catch { /* the usual port */ }
tokens.start(config);
recordings.start(config);
again();
