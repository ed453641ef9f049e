import { McpError } from "../protocol/errors.ts";
import type { ResourceDefinition } from "../server/resource.ts";
import type { ToolDefinition } from "../server/tool.ts";
import type { ApiAccess, CallableOperation } from "./call-operation.ts";
import type { FoundOperation, Parameter } from "./operation.ts";
import { type InputOptions, readInput } from "./operation-input.ts";
import { readOutput } from "./operation-output.ts";
import { operationResource, operationTool } from "./operation-tool.ts";
import { type Documents, type Located, OperationProblem } from "./references.ts";
import { toUsableSchema } from "./usable-schema.ts";

export interface ServeOptions {
  readonly documents: Documents;
  readonly isOld: boolean;
  readonly access: ApiAccess;
  /** Of the server: a part of the URIs of resources. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly hasResources: boolean;
  /** Where requests of an operation with these servers go. */
  baseOf(servers: Located): URL;
  warn(message: string): void;
}

export interface ServedOperations {
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  readonly resources: readonly ResourceDefinition[];
}

/** Tools, and resources where they are wanted, for operations. One that cannot be used is left out with a warning. */
export async function serveOperations(
  operations: ReadonlyMap<string, FoundOperation>,
  options: ServeOptions,
): Promise<ServedOperations> {
  const tools: [string, ToolDefinition][] = [];
  const resources: ResourceDefinition[] = [];
  const take = createBudget();
  for (const [name, found] of operations) {
    try {
      const { tool, callable } = await serveOne(name, found, { ...options, take });
      tools.push([name, tool]);
      const readable = options.hasResources ? operationResource(callable, options.name, options.access) : undefined;
      if (readable !== undefined) resources.push(readable);
    } catch (error) {
      if (!(error instanceof OperationProblem)) throw error;
      options.warn(`${name} (${found.method} ${found.path}) is left out: ${error.message}`);
    }
  }
  return { tools: Object.fromEntries(tools), resources };
}

/** Schemas that the arguments of all tools may have. */
const MAX_SCHEMAS = 300_000;

function createBudget(): () => void {
  let left = MAX_SCHEMAS;
  return () => {
    if (--left >= 0) return;
    const problem = `the OpenAPI document has more than ${MAX_SCHEMAS} schemas in the arguments of its operations`;
    throw new McpError("invalid-definition", `${problem}: choose fewer with include or exclude`);
  };
}

interface ServedOperation {
  readonly tool: ToolDefinition;
  readonly callable: CallableOperation;
}

async function serveOne(
  name: string,
  found: FoundOperation,
  options: ServeOptions & Pick<InputOptions, "take">,
): Promise<ServedOperation> {
  const { documents, isOld, access, timeoutMs, warn, take } = options;
  const operation = found.read();
  const isReserved = (parameter: Parameter): boolean => isOfRequest(parameter, access);
  const input = readInput(operation, { documents, isOld, isReserved, take });
  const inputSchema = await toUsableSchema(input.schema);
  if (!inputSchema.ok) throw new OperationProblem(`its input schema cannot be used: ${inputSchema.problem}`);
  if (inputSchema.note !== undefined) warn(`${name}: ${inputSchema.note}`);
  const output = readOutput(operation, { documents, isOld });
  const outputSchema = output && (await toUsableSchema(output));
  const callable = { name, operation, input, base: options.baseOf(operation.servers) };
  const usable = outputSchema?.ok === true ? outputSchema : undefined;
  return { callable, tool: operationTool({ ...callable, inputSchema, outputSchema: usable, access, timeoutMs }) };
}

/** Whether a parameter is what a request has anyway, or shows who calls. */
function isOfRequest({ name, place }: Parameter, { schemes, headers }: ApiAccess): boolean {
  const lower = name.toLowerCase();
  if (place === "header" && (ownHeaders.has(lower) || Object.hasOwn(headers, lower))) return true;
  return [...schemes.values()].some(({ in: at, parameterName = "" }) =>
    place === "header"
      ? at === "header" && parameterName.toLowerCase() === lower
      : at === place && parameterName === name,
  );
}

/** Headers that are not up to a caller: of credentials, of the message, and of the connection. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "authorization", "proxy-authorization", "cookie", "host", "origin", "referer"],
  ...["connection", "content-length", "content-encoding", "transfer-encoding", "te", "trailer", "upgrade", "expect"],
  ...["keep-alive", "accept-encoding", "via", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
  ...["x-http-method-override", "x-real-ip"],
]);
