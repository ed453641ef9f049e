import type { JWK } from "jose";
import { isObject, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { asObject } from "./discovery.ts";
import { nameOf } from "./dpop.ts";
import type { TokenStore } from "./token-store.ts";

/** Whose tokens they are, and for what. Tokens of one place are never used at another. */
export interface CredentialsKey {
  readonly issuer: string;
  readonly resource: string;
  readonly clientId: string;
  /** Where the metadata of the resource is, when the server said so. */
  readonly metadataUrl?: string | undefined;
}

export interface Tokens {
  readonly accessToken: string;
  readonly type: "bearer" | "dpop";
  /** From when on another one is needed, some time before it expires. Milliseconds of the time of day. */
  readonly renewAt?: number;
  readonly refreshToken?: string;
  /** What was asked for, so far. */
  readonly requested: readonly string[];
  /** What was given, where it was said. */
  readonly granted?: readonly string[];
  /** The key the tokens are bound to. */
  readonly key?: JWK;
  /** The refresh token was sent to the issuer, so that it must not be used again. */
  readonly spent?: boolean;
}

/** All credentials of one server, to be revoked at their issuers. */
export interface ForgottenCredentials {
  readonly tokens: readonly LeftTokens[];
  /** Clients that no other server is used with. */
  readonly registrations: readonly { readonly issuer: string; readonly registration: Registration }[];
}

export interface LeftTokens {
  readonly place: CredentialsKey;
  readonly tokens: Tokens;
  /** The client they were given to, where it had to register. */
  readonly registration: Registration | undefined;
}

/** Typed access to a {@link TokenStore}. What cannot be read counts as missing. */
export interface Credentials {
  /** Where the tokens of a server are. */
  place(server: string): Promise<CredentialsKey | undefined>;
  tokens(place: CredentialsKey): Promise<Tokens | undefined>;
  /** Keeps tokens, as those of this server. Tokens of other places stay until everything is forgotten. */
  keep(server: string, place: CredentialsKey, tokens: Tokens): Promise<void>;
  /** Replaces the tokens of a place. */
  update(place: CredentialsKey, tokens: Tokens): Promise<void>;
  forget(server: string, place: CredentialsKey): Promise<void>;
  /** The client at an issuer: the newest, or the one with this id. */
  registration(issuer: string, clientId?: string): Promise<Registration | undefined>;
  /** Keeps a client, as one that this server is used with. Older ones of the issuer stay, for their tokens. */
  register(server: string, issuer: string, registration: Registration): Promise<void>;
  /** Forgets the newest client at an issuer. */
  unregister(issuer: string): Promise<void>;
  /** Deletes everything of a server, and returns what it was. */
  clear(server: string): Promise<ForgottenCredentials>;
  /** Runs `task` while no other task runs for this server. */
  exclusive<T>(server: string, task: () => Promise<T>): Promise<T>;
}

/** What is kept of a server: the place in use first, then earlier ones; and the clients that were registered for it. */
interface ServerRecord {
  readonly places: readonly CredentialsKey[];
  readonly clients: readonly ClientName[];
}

interface ClientName {
  readonly issuer: string;
  readonly clientId: string;
}

export function createCredentials(store: TokenStore): Credentials {
  const read = async (name: string): Promise<JsonObject | undefined> => {
    const parsed = parseJson((await store.get(name)) ?? "");
    return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
  };
  const write = (name: string, value: object): Promise<void> => store.set(name, JSON.stringify(value));
  const tokensName = ({ issuer, resource, clientId }: CredentialsKey) => nameOf("tokens", issuer, resource, clientId);
  const exclusive: Credentials["exclusive"] = async (name, task) =>
    store.exclusive === undefined ? task() : store.exclusive(await nameOf("lock", name), task);

  const readServer = async (server: string): Promise<ServerRecord> => {
    const kept = await read(await nameOf("place", server));
    return { places: listOf(kept?.places, isPlace), clients: listOf(kept?.clients, isClientName) };
  };
  const writeServer = async (server: string, record: ServerRecord): Promise<void> =>
    write(await nameOf("place", server), record);

  const readTokens = async (place: CredentialsKey): Promise<Tokens | undefined> => {
    const kept = await read(await tokensName(place));
    const usable = typeof kept?.accessToken === "string" && Array.isArray(kept.requested);
    return kept !== undefined && usable ? asObject<Tokens>(kept) : undefined;
  };

  const clients = createClientRecords({ read, write, delete: (name) => store.delete(name), exclusive });

  return {
    exclusive,
    async place(server) {
      return (await readServer(server)).places[0];
    },
    tokens: readTokens,
    async keep(server, place, tokens) {
      // Who signs out must find the tokens, so the server names them first.
      const known = await readServer(server);
      const others = known.places.filter((other) => !isSamePlace(other, place));
      await writeServer(server, { ...known, places: [place, ...others] });
      await write(await tokensName(place), tokens);
    },
    async update(place, tokens) {
      await write(await tokensName(place), tokens);
    },
    async forget(server, place) {
      await store.delete(await tokensName(place));
      const known = await readServer(server);
      await writeServer(server, { ...known, places: known.places.filter((other) => !isSamePlace(other, place)) });
    },
    registration: clients.find,
    register: (server, issuer, registration) =>
      exclusive(server, async () => {
        const { clientId } = registration;
        const known = await readServer(server);
        const others = known.clients.filter((other) => other.issuer !== issuer || other.clientId !== clientId);
        await writeServer(server, { ...known, clients: [{ issuer, clientId }, ...others] });
        await clients.add(server, issuer, registration);
      }),
    unregister: clients.deleteNewest,
    async clear(server) {
      const known = await readServer(server);
      const tokens: LeftTokens[] = [];
      for (const place of known.places) {
        const kept = await readTokens(place);
        const registration = await clients.find(place.issuer, place.clientId);
        if (kept !== undefined) tokens.push({ place, tokens: kept, registration });
        await store.delete(await tokensName(place));
      }
      const registrations: { issuer: string; registration: Registration }[] = [];
      for (const { issuer, clientId } of known.clients) {
        const registration = await clients.leave(server, issuer, clientId);
        if (registration !== undefined) registrations.push({ issuer, registration });
      }
      await store.delete(await nameOf("place", server));
      return { tokens, registrations };
    },
  };
}

function isSamePlace(a: CredentialsKey, b: CredentialsKey): boolean {
  return a.issuer === b.issuer && a.resource === b.resource && a.clientId === b.clientId;
}

function isPlace(value: unknown): boolean {
  return hasTexts(value, "issuer", "resource", "clientId");
}

function isClientName(value: unknown): boolean {
  return hasTexts(value, "issuer", "clientId");
}

/** The items of a list that was kept, as far as they can be read. */
function listOf<T>(value: unknown, isItem: (item: unknown) => boolean): readonly T[] {
  return Array.isArray(value) ? value.filter(isItem) : [];
}

/** A client as an authorization server knows it, after it was registered there. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method: string;
  readonly redirectUri: string;
  /** Milliseconds of the time of day. */
  readonly secretExpiresAt?: number;
  /** What it was registered for, if that was said. */
  readonly scopes?: readonly string[];
  /** Where the registration can be deleted (RFC 7592), and the token for it. */
  readonly management?: { readonly uri: string; readonly token: string };
}

/** Objects by name, and a way to be alone with them. */
interface Records {
  read(name: string): Promise<JsonObject | undefined>;
  write(name: string, value: object): Promise<void>;
  delete(name: string): Promise<void>;
  exclusive<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** The clients that were registered at issuers. Servers of one issuer share them. */
interface ClientRecords {
  /** The newest client of an issuer, or the one with this id. */
  find(issuer: string, clientId?: string): Promise<Registration | undefined>;
  /** Makes a client the newest of its issuer, and one that this server is used with. */
  add(server: string, issuer: string, registration: Registration): Promise<void>;
  /** Ends the use of a client with a server. It is deleted, and returned, when no other server is left. */
  leave(server: string, issuer: string, clientId: string): Promise<Registration | undefined>;
  deleteNewest(issuer: string): Promise<void>;
}

/** A client, and the servers it is used with. */
interface ClientRecord extends Registration {
  readonly servers?: readonly string[];
}

function createClientRecords(records: Records): ClientRecords {
  const read = async (name: string): Promise<ClientRecord | undefined> => {
    const kept = await records.read(name);
    const usable = hasTexts(kept, "clientId", "method", "redirectUri");
    return usable ? asObject<ClientRecord>(kept) : undefined;
  };
  /** The newest client has the name of the issuer alone. */
  const locate = async (issuer: string, clientId?: string) => {
    const newest = await nameOf("client", issuer);
    const record = await read(newest);
    if (clientId === undefined || record?.clientId === clientId) return { name: newest, record };
    const older = await nameOf("client", issuer, clientId);
    return { name: older, record: await read(older) };
  };

  return {
    find: async (issuer, clientId) => (await locate(issuer, clientId)).record,
    add: (server, issuer, registration) =>
      records.exclusive(issuer, async () => {
        const { name, record } = await locate(issuer);
        const isSame = record?.clientId === registration.clientId;
        if (record !== undefined && !isSame)
          await records.write(await nameOf("client", issuer, record.clientId), record);
        const servers = isSame ? (record.servers ?? []) : [];
        if (isSame && servers.includes(server)) return;
        await records.write(name, { ...registration, servers: [...servers, server] });
      }),
    leave: (server, issuer, clientId) =>
      records.exclusive(issuer, async () => {
        const { name, record } = await locate(issuer, clientId);
        if (record === undefined) return undefined;
        const servers = (record.servers ?? []).filter((other) => other !== server);
        await (servers.length === 0 ? records.delete(name) : records.write(name, { ...record, servers }));
        return servers.length === 0 ? record : undefined;
      }),
    async deleteNewest(issuer) {
      await records.delete(await nameOf("client", issuer));
    },
  };
}

/** Whether these members of an object are texts. */
function hasTexts(value: unknown, ...names: readonly string[]): value is JsonObject {
  return isObject(value) && names.every((name) => typeof value[name] === "string");
}
