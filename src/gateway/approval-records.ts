import { isObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { toLimitError } from "../protocol/limit-error.ts";
import type { Store } from "../store/store.ts";
import type { ApprovalAnswer, PendingApproval } from "./approval.ts";

/** An approval in the store. */
export interface ApprovalRecord {
  readonly state: "waiting" | "approved" | "declined";
  readonly approval: PendingApproval;
  /** Whose share it counts for. */
  readonly account: string;
  readonly answer?: ApprovalAnswer | undefined;
}

export interface KeptApproval {
  readonly record: ApprovalRecord;
  readonly version: string;
}

export interface ApprovalLimits {
  /** How long an approval is asked for, and how long one that was given can be used. */
  readonly ttlMs: number;
  readonly max: { readonly principal: number; readonly process: number };
}

/** Approvals by the digest of the call that they are for: there is one for each caller and call. */
export interface ApprovalRecords {
  find(digest: string): Promise<KeptApproval | undefined>;
  /** False when there is one already. Throws `limit-reached` where the caller, or all of them, have too many. */
  add(digest: string, record: ApprovalRecord): Promise<boolean>;
  /** False when it is not as it was found. */
  replace(digest: string, found: KeptApproval, record: ApprovalRecord): Promise<boolean>;
  /** False when it is not as it was found. */
  remove(digest: string, found: KeptApproval): Promise<boolean>;
  waiting(): Promise<readonly PendingApproval[]>;
}

const group = "approvals";
const maxListed = 1_000;

export function createApprovalRecords(store: () => Promise<Store>, { ttlMs, max }: ApprovalLimits): ApprovalRecords {
  const all = async (): Promise<readonly ApprovalRecord[]> => {
    const { values } = await store();
    const found = await values.list(group, { limit: maxListed });
    return found.flatMap(({ text }) => read(text) ?? []);
  };

  const checkRoom = async (account: string): Promise<void> => {
    const waiting = (await all()).filter(({ state }) => state === "waiting");
    const mine = waiting.filter((record) => record.account === account);
    const scope = mine.length >= max.principal ? "principal" : waiting.length >= max.process ? "process" : undefined;
    if (scope === undefined) return;
    throw toLimitError({ limit: "maxApprovals", max: max[scope], scope, retryAfterMs: ttlMs });
  };

  return {
    async find(digest) {
      const { values } = await store();
      const found = await values.get(nameOf(digest));
      const record = found && read(found.text);
      return record && found && { record, version: found.version };
    },
    async add(digest, record) {
      await checkRoom(record.account);
      const { values } = await store();
      const options = { version: null, ttlMs, group };
      return (await values.put(nameOf(digest), JSON.stringify(record), options)) !== undefined;
    },
    async replace(digest, { version }, record) {
      const { values } = await store();
      return (await values.put(nameOf(digest), JSON.stringify(record), { version, ttlMs, group })) !== undefined;
    },
    async remove(digest, { version }) {
      const { values } = await store();
      return values.delete(nameOf(digest), { version });
    },
    waiting: async () => (await all()).flatMap(({ state, approval }) => (state === "waiting" ? [approval] : [])),
  };
}

/** The error of an answer that nobody waits for. */
export function unknownApproval(id: string): McpError {
  const message = `no call waits for the approval ${JSON.stringify(id.slice(0, 128))}: it was answered, cancelled or has expired`;
  return new McpError("invalid-params", message, { data: { reason: "unknown-approval" } });
}

function nameOf(digest: string): string {
  return `approval ${digest}`;
}

function read(text: string): ApprovalRecord | undefined {
  const record: unknown = JSON.parse(text);
  return isObject(record) ? (record as unknown as ApprovalRecord) : undefined;
}
