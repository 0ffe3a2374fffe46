// Changing something: asks for the API token when the server wants it, and says what
// came of it.
import { askForToken } from "../ask.js";
import { byId, setText } from "../dom.js";

export function say(text, bad = false) {
  setText(byId("done"), text);
  const notice = byId("notice");
  notice.hidden = !bad;
  setText(notice, bad ? text : "");
}

// act returns what change returns, or undefined when it could not be done.
export async function act(change, done) {
  for (;;) {
    try {
      const answer = await change();
      say(done);
      return answer ?? true;
    } catch (err) {
      if (err.status !== 401 || !(await askForToken("The server changes something only for those who know its API token."))) {
        say(err.message, true);
        return undefined;
      }
    }
  }
}
