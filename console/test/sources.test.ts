/** Limits of the sources: the lengths of files and functions, and parameters. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 40;
const MAX_PARAMETERS = 8;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILES = ['src', 'test', 'tools']
  .flatMap((folder) => readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.generated.'));

function parse(name: string): ts.SourceFile {
  const text = readFileSync(ROOT + name, 'utf8');
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
}

function* functionsIn(node: ts.Node): Generator<ts.SignatureDeclaration & { body?: ts.Node | undefined }> {
  const isFunction = ts.isFunctionDeclaration(node) || ts.isArrowFunction(node) || ts.isMethodDeclaration(node);
  if (isFunction) yield node;
  for (const child of node.getChildren()) yield* functionsIn(child);
}

test('files and functions are short', () => {
  assert.ok(FILES.length > 30);
  for (const name of FILES) {
    const source = parse(name);
    const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
    assert.ok(lineOf(source.end) <= MAX_FILE_LINES, name);
    for (const each of functionsIn(source)) {
      const lines = lineOf(each.end) - lineOf(each.getStart());
      assert.ok(lines < MAX_FUNCTION_LINES, `${name}:${lineOf(each.getStart())} has ${lines} lines`);
      assert.ok(each.parameters.length <= MAX_PARAMETERS, name);
    }
  }
});

test('nothing writes markup from text', () => {
  for (const name of FILES.filter((each) => each.startsWith('src/'))) {
    const text = readFileSync(ROOT + name, 'utf8');
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=/, name);
  }
});
