// Counts the steps and says which were bad.

import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";

const PATIENCE = 30;
const PAUSE = 0.05;

// How long waiters wait: seconds altogether, and between two looks.
export const WAIT = { maxWaitTime: PATIENCE, minDelay: PAUSE, maxDelay: PAUSE };

export class Steps {
  count = 0;
  bad = 0;
  #name = "";
  #told = new Set();
  #body = "";

  // Does one thing; whatever goes wrong in it is told under its name.
  async step(name, act) {
    this.count += 1;
    this.#name = name;
    try {
      await act();
    } catch (problem) {
      this.fail(problem.stack ?? String(problem));
    }
  }

  fail(problem) {
    this.bad += 1;
    // What is polled is bad each time.
    const line = `BAD ${this.#name}: ${problem}`;
    if (!this.#told.has(line)) {
      this.#told.add(line);
      console.log(line);
    }
  }

  // Two things are equal in every member.
  same(what, got, want) {
    if (!isDeepStrictEqual(plain(got), plain(want))) {
      this.fail(`${what} is ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
    }
  }

  // What was read has everything that was sent; AWS adds what it fills in.
  holds(got, want) {
    for (const problem of missing("", plain(got), plain(want))) this.fail(problem);
  }

  // A call ends with the SDK's own class for an error, with a message and a request id.
  async refused(type, call) {
    try {
      await call;
    } catch (error) {
      if (!(error instanceof type)) {
        this.fail(`the error is no ${type.name}: ${error}`);
      } else if (!error.message || !error.$metadata.requestId || error.name !== type.name) {
        this.fail(`${type.name} lacks its name, its message or its request id: ${error}`);
      }
      return;
    }
    this.fail(`no ${type.name}`);
  }

  // Waits for what the emulator does by itself.
  async until(what, done) {
    for (const end = Date.now() + PATIENCE * 1000; Date.now() < end; ) {
      if (await done()) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE * 1000));
    }
    throw new Error(`${what}: not within ${PATIENCE} s`);
  }

  // Looks at each answer twice, as XML and as what the SDK made of it: a text that the SDK did not find, since it
  // stands in an element of another name, is lost without an error.
  losingNothing(client) {
    const handler = client.config.requestHandler;
    const handle = handler.handle.bind(handler);
    handler.handle = async (request, options) => {
      const answer = await handle(request, options);
      const chunks = [];
      for await (const chunk of answer.response.body) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      this.#body = /xml/.test(answer.response.headers["content-type"] ?? "") ? body.toString() : "";
      answer.response.body = Readable.from([body]);
      return answer;
    };
    const look = (next) => async (args) => {
      const result = await next(args);
      const found = new Map();
      const { $metadata, ...output } = result.output;
      tally(plain(output), found);
      for (const [name, text] of leaves(this.#body)) {
        const left = (found.get(text) ?? 0) - 1;
        found.set(text, left);
        if (left < 0) this.fail(`the answer lacks ${JSON.stringify(text)} of <${name}>`);
      }
      return result;
    };
    client.middlewareStack.add(look, { step: "initialize", name: "losingNothing" });
    return client;
  }
}

// All items of all pages.
export async function all(pages, itemsOf) {
  const found = [];
  for await (const page of pages) found.push(...(itemsOf(page) ?? []));
  return found;
}

function missing(path, got, want) {
  if (Array.isArray(want)) {
    if (!Array.isArray(got) || got.length !== want.length) {
      return [`${path} is ${JSON.stringify(got)}, not ${JSON.stringify(want)}`];
    }
    return want.flatMap((each, i) => missing(`${path}[${i}]`, got[i], each));
  }
  if (want !== null && typeof want === "object") {
    return Object.entries(want).flatMap(([name, each]) => missing(`${path}.${name}`, got?.[name], each));
  }
  return got === want ? [] : [`${path} is ${JSON.stringify(got)}, not ${JSON.stringify(want)}`];
}

// A value as JSON has it, without what is undefined.
function plain(value) {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function tally(value, found) {
  if (value !== null && typeof value === "object") {
    for (const each of Object.values(value)) tally(each, found);
  } else {
    const text = canonical(String(value));
    found.set(text, (found.get(text) ?? 0) + 1);
  }
}

// The elements that hold a text and no other element, but for the request id, which is metadata.
function leaves(body) {
  return [...body.matchAll(/<([A-Za-z0-9]+)(?: [^>]*)?>([^<]+)<\/\1>/g)]
    .filter(([, name]) => name !== "RequestId")
    .map(([, name, text]) => [name, canonical(unescaped(text))]);
}

const NAMED = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function unescaped(text) {
  return text.replace(/&(#x?)?(\w+);/g, (_, number, word) =>
    number ? String.fromCodePoint(parseInt(word, number === "#x" ? 16 : 10)) : NAMED[word],
  );
}

// A moment is written in one way; any other text is left as it is.
function canonical(text) {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? new Date(text).toISOString() : text;
}
