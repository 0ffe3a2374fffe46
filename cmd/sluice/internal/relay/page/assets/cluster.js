// What the API says of a stream on several nodes, as one stream.

const sum = (list, of) => list.reduce((total, x) => total + (of(x) || 0), 0);

// merged has each name once: what its publisher's node says, with the viewers of all. A
// node that pulls is a viewer of its source, and does not count.
export function merged(streams) {
  const byName = new Map();
  for (const s of streams) byName.set(s.name, [...(byName.get(s.name) ?? []), s]);
  return [...byName.values()].map((all) => {
    if (all.length === 1) return all[0];
    const origin = all.find((s) => !s.from && s.state === "live") ?? all.find((s) => !s.from) ?? all[0];
    const pulls = all.filter((s) => s.from).length;
    const protocols = {};
    for (const s of all) for (const [name, n] of Object.entries(s.protocols ?? {})) protocols[name] = (protocols[name] ?? 0) + n;
    return {
      ...origin, protocols, nodes: all.map((s) => s.node).sort(),
      viewers: Math.max(sum(all, (s) => s.viewers) - pulls, 0), bitrate_out: sum(all, (s) => s.bitrate_out),
    };
  });
}

// where says which nodes have a stream; "" without a cluster.
export const where = (s) => (s?.nodes ?? [s?.node].filter(Boolean)).join(", ");

// missing says which nodes did not answer; "" when all did.
export const missing = (answer) => (answer?.unanswered?.length ? `Not in this list: ${answer.unanswered.map((u) => `${u.node} (${u.reason})`).join(", ")}.` : "");
