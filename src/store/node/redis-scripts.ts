/** A script that Redis runs as one step. Its keys come first; all have the same hash tag. */
interface Script {
  readonly numberOfKeys: number;
  readonly lua: string;
}

export type ScriptName =
  | "put"
  | "delete"
  | "add"
  | "append"
  | "read"
  | "forget"
  | "acquire"
  | "renew"
  | "release"
  | "publish"
  | "catchUp"
  | "join"
  | "sweep";

/** How long Redis remembers the last lease on a name after it ended: 30 days. */
const REMEMBER_MS = "2592000000";

/** How many messages of a topic are kept for subscribers whose connection broke, and for how long. */
const TOPIC_MESSAGES = "4096";
const TOPIC_MS = "300000";
/** How long the id of the last message of a topic is known. Every subscriber refreshes it. */
const NEWEST_MS = "86400000";

/**
 * The start of every script that changes something. A command whose connection broke is sent again, and Redis may see
 * it twice, even late. It is carried out once: the first key remembers for a while that it was, and what came of it.
 */
const once = `
local done = redis.call('GET', KEYS[1])
if done then return done end
local function finish(result)
  redis.call('SET', KEYS[1], result, 'PX', ARGV[1])
  return result
end`;

/**
 * Whether no later lease than the one with this token was given. Tokens are times: when no lease is remembered, a holder
 * that was away for longer than that is refused rather than trusted. 0 is before all leases.
 */
const fence = `
local function allowed(key, token)
  if token == '' then return true end
  local newest = redis.call('GET', key)
  if newest then return tonumber(newest) <= tonumber(token) end
  return token == '0' or redis.call('TIME')[1] * 1000 - tonumber(token) < ${REMEMBER_MS}
end`;

/** Whether the value has the version that is asked for: '' any, '-' none, '=' and a version. */
const version = `
local function matches(key, wanted)
  if wanted == '' then return true end
  local now = redis.call('HGET', key, 'version')
  if now then return wanted == '=' .. now end
  return wanted == '-'
end`;

/** Numbers as Redis reads them, and a number that grows with time and is larger than the one before. */
const numbers = `
local function text(number) return string.format('%.0f', number) end
local function after(previous, unit)
  local time = redis.call('TIME')
  return text(math.max(tonumber(previous or '0') + 1, time[1] * unit + math.floor(time[2] * unit / 1000000)))
end`;

/** The position of the last event of a stream. A stream is there as long as it is not forgotten, also without events. */
const streams = `
local function lastOf(stream, position)
  return redis.call('EXISTS', stream) == 1 and redis.call('GET', position) or '0'
end`;

const put: Script = {
  numberOfKeys: 3,
  lua: `${once}${fence}${version}
local did, value, lease = unpack(KEYS)
local _, text, new, old, token, ttl, group = unpack(ARGV)
if not (matches(value, old) and allowed(lease, token)) then return finish('0') end
redis.call('HSET', value, 'text', text, 'version', new, 'group', group)
if ttl == '' then redis.call('PERSIST', value) else redis.call('PEXPIRE', value, ttl) end
return finish('1')`,
};

const remove: Script = {
  numberOfKeys: 3,
  lua: `${once}${fence}${version}
local did, value, lease = unpack(KEYS)
local _, old, token = unpack(ARGV)
if not (matches(value, old) and allowed(lease, token)) then return finish('0') end
return finish(tostring(redis.call('DEL', value)))`,
};

const add: Script = {
  numberOfKeys: 2,
  lua: `${once}${numbers}
local did, number = unpack(KEYS)
local _, amount, ttl = unpack(ARGV)
local now = redis.call('GET', number)
local sum = text(tonumber(now or '0') + tonumber(amount))
if now then redis.call('SET', number, sum, 'KEEPTTL') else redis.call('SET', number, sum, 'PX', ttl) end
return finish(sum)`,
};

const append: Script = {
  numberOfKeys: 4,
  lua: `${once}${fence}${numbers}${streams}
local did, stream, position, lease = unpack(KEYS)
local _, token, ttl, keep = unpack(ARGV, 1, 4)
if not allowed(lease, token) then return finish('-') end
local last = tonumber(lastOf(stream, position))
if #ARGV == 4 then return finish(text(last)) end
for index = 5, #ARGV do
  last = last + 1
  redis.call('XADD', stream, text(last) .. '-0', 't', ARGV[index])
end
if keep ~= '' then redis.call('XTRIM', stream, 'MAXLEN', '~', keep) end
if ttl == '' then
  redis.call('PERSIST', stream)
  redis.call('SET', position, text(last))
else
  redis.call('PEXPIRE', stream, ttl)
  redis.call('SET', position, text(last), 'PX', text(ttl + 1000))
end
return finish(text(last))`,
};

const read: Script = {
  numberOfKeys: 2,
  lua: `${streams}
local stream, position = unpack(KEYS)
local first, limit = unpack(ARGV)
return { lastOf(stream, position), redis.call('XRANGE', stream, first, '+', 'COUNT', limit) }`,
};

const forget: Script = {
  numberOfKeys: 3,
  lua: `${once}
local did, stream, position = unpack(KEYS)
redis.call('DEL', stream, position)
return finish('1')`,
};

const acquire: Script = {
  numberOfKeys: 3,
  lua: `${once}${numbers}
local did, lease, newest = unpack(KEYS)
local _, ttl = unpack(ARGV)
if redis.call('EXISTS', lease) == 1 then return finish('-') end
local token = after(redis.call('GET', newest), 1000)
redis.call('SET', newest, token, 'PX', text(ttl + ${REMEMBER_MS}))
redis.call('SET', lease, token, 'PX', ttl)
return finish(token)`,
};

const renew: Script = {
  numberOfKeys: 2,
  lua: `${numbers}
local lease, newest = unpack(KEYS)
local token, ttl = unpack(ARGV)
if redis.call('GET', lease) ~= token then return 0 end
redis.call('PEXPIRE', lease, ttl)
redis.call('PEXPIRE', newest, text(ttl + ${REMEMBER_MS}))
return 1`,
};

const release: Script = {
  numberOfKeys: 1,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
};

/** Each message names the one before it, so that a subscriber notices what it missed. */
const publish: Script = {
  numberOfKeys: 3,
  lua: `${once}${numbers}
local did, topic, newest = unpack(KEYS)
local _, message = unpack(ARGV)
local previous = redis.call('GET', newest) or '0'
local id = after(previous, 1000000)
redis.call('SET', newest, id, 'PX', ${NEWEST_MS})
redis.call('XADD', topic, 'MAXLEN', '~', ${TOPIC_MESSAGES}, id .. '-0', 'p', previous, 't', message)
redis.call('PEXPIRE', topic, ${TOPIC_MS})
redis.call('PUBLISH', topic, id .. ' ' .. previous .. ' ' .. message)
return finish(id)`,
};

/** The id of the newest message, and those after a given one. A topic without messages gets an id to start from. */
const catchUp: Script = {
  numberOfKeys: 2,
  lua: `${numbers}
local topic, newest = unpack(KEYS)
local last, limit = unpack(ARGV)
local id = redis.call('GET', newest) or after(nil, 1000000)
redis.call('SET', newest, id, 'PX', ${NEWEST_MS})
if last == '' then return { id, {} } end
return { id, redis.call('XRANGE', topic, text(last + 1), '+', 'COUNT', limit) }`,
};

/** Adds a member to a group. Answers with some that were added long ago, to be looked after. */
const join: Script = {
  numberOfKeys: 2,
  lua: `${numbers}
local members, added = unpack(KEYS)
local member, grace, limit = unpack(ARGV)
local now = after(nil, 1000)
redis.call('ZADD', members, 0, member)
redis.call('ZADD', added, now, member)
return redis.call('ZRANGEBYSCORE', added, '-inf', text(now - grace), 'LIMIT', 0, limit)`,
};

/** Drops those members that have no value and were not added just now. The value of those may be on its way. */
const sweep: Script = {
  numberOfKeys: 2,
  lua: `${numbers}
local members, added = unpack(KEYS)
local now = after(nil, 1000)
for index = 2, #ARGV, 2 do
  local member, gone = ARGV[index], ARGV[index + 1] == '1'
  local at = tonumber(redis.call('ZSCORE', added, member) or '0')
  if not gone then
    redis.call('ZADD', added, 'XX', now, member)
  elseif at <= now - ARGV[1] then
    redis.call('ZREM', members, member)
    redis.call('ZREM', added, member)
  end
end
return 1`,
};

export const scripts: Readonly<Record<ScriptName, Script>> = {
  put,
  delete: remove,
  add,
  append,
  read,
  forget,
  acquire,
  renew,
  release,
  publish,
  catchUp,
  join,
  sweep,
};

/**
 * A name as ASCII without braces. Injective, and the bytes are in the order of the names by UTF-16 units: what is not
 * escaped comes before `|`, and so before everything that is.
 */
export function encodeName(name: string): string {
  return name.replace(/[{-\uffff]/g, (unit) => `|${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function decodeName(encoded: string): string {
  return encoded.replace(/\|([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** What is kept under a name, or a topic, or a group. */
export type KeyPart =
  | "value"
  | "number"
  | "stream"
  | "position"
  | "lease"
  | "fence"
  | "topic"
  | "newest"
  | "members"
  | "added"
  | `did:${string}`;

/** The key of one part of a name. All parts of a name have the same hash tag, so a cluster keeps them together. */
export type Keys = (name: string, part: KeyPart) => string;

export function createKeys(prefix: string): Keys {
  // An empty tag would be none.
  return (name, part) => `${prefix}:{${encodeName(name) || "|"}}:${part}`;
}

const ESCAPE = "\u0001";
const loneSurrogate = /\p{Surrogate}/u;

/** A text as one that UTF-8 can hold: itself, unless it has half a character in it. */
export function encodeText(text: string): string {
  return text.startsWith(ESCAPE) || loneSurrogate.test(text) ? ESCAPE + JSON.stringify(text) : text;
}

export function decodeText(stored: string): string {
  return stored.startsWith(ESCAPE) ? (JSON.parse(stored.slice(1)) as string) : stored;
}
