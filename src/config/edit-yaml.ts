import type { RootedEdit } from "./edit-config.ts";

/** Changes one server in YAML. Comments stay; lines are not broken anew. */
export async function editYaml(text: string, edit: RootedEdit): Promise<string> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: false });
  const path = [...edit.root, edit.name];
  if (edit.type === "set") document.setIn(path, document.createNode(edit.entry));
  else document.deleteIn(path);
  const indent = /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
  const indentSeq = !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(text);
  return document.toString({ lineWidth: 0, indent, indentSeq, flowCollectionPadding: /\{ /.test(text) });
}
