import ts from 'typescript';
import type { Module } from './structure.js';

/** A message that the sources log, with `…` for each inserted value. */
export interface LogMessage {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly file: string;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

interface Forwarder {
  readonly level: LogMessage['level'];
  /** The index of the argument that is the message. */
  readonly at: number;
  /** The file that has this private method. Other files may have a method with the same name. */
  readonly file?: string;
}

/** Functions and methods that log a message of their caller's. */
const FORWARDERS: Readonly<Record<string, Forwarder>> = {
  logError: { level: 'error', at: 2 },
  warnOfSetup: { level: 'warn', at: 2 },
  report: { level: 'error', at: 1 }, // Session.report(error, message). With one argument it is another `report`.
  '#warnOnce': { level: 'warn', at: 1, file: 'session/path-protection.ts' },
  '#print': { level: 'error', at: 0, file: 'cluster/supervisor/signal-shutdown.ts' },
  '#fail': { level: 'error', at: 0, file: 'cluster/supervisor/signal-shutdown.ts' },
  '#exit': { level: 'error', at: 1, file: 'cluster/supervisor/signal-shutdown.ts' },
};

/** The file of the loggers, whose methods pass on the messages of their callers. */
const LOGGERS = 'platform/logging/logger.ts';

/**
 * Finds all messages that a source logs.
 *
 * @throws Error if it can't read a message. A parameter is such a message, unless its function is a known forwarder, whose callers
 *   have the message
 */
export function logMessagesIn({ file, text }: Pick<Module, 'file' | 'text'>): LogMessage[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: LogMessage[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const call = loggingCall(node, file);
      const argument = call && node.arguments[call.at];
      if (call !== undefined && argument !== undefined && (call.isLogger || isText(argument)))
        for (const message of messagesOf(argument, source)) found.push({ level: call.level, message, file });
      else if (call?.isLogger === true) throw new Error(`${file}: no message in ${node.getText()}`);
    }
    if (ts.isPropertyAssignment(node) && isReportedMessage(node))
      for (const message of messagesOf(node.initializer, source))
        found.push({ level: 'error', message, file });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether it is the message with which a `ReportingEmitter` logs its errors. */
function isReportedMessage({ name, parent }: ts.PropertyAssignment): boolean {
  const getter = ts.findAncestor(parent, ts.isGetAccessorDeclaration);
  return name.getText() === 'message' && getter?.name.getText() === 'reporting';
}

function loggingCall({ expression }: ts.CallExpression, file: string) {
  const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
  const level = LEVELS.find((each) => each === name);
  if (level !== undefined && ts.isPropertyAccessExpression(expression))
    return /logger$/i.test(expression.expression.getText()) ? { level, at: 1, isLogger: true } : undefined;
  const forwarder = Object.hasOwn(FORWARDERS, name) ? FORWARDERS[name] : undefined;
  const isOfFile = forwarder?.file === undefined || forwarder.file === file;
  return forwarder && isOfFile ? { ...forwarder, isLogger: false } : undefined;
}

function messagesOf(node: ts.Expression, source: ts.SourceFile): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')];
  if (ts.isConditionalExpression(node))
    return [...messagesOf(node.whenTrue, source), ...messagesOf(node.whenFalse, source)];
  if (ts.isBinaryExpression(node)) {
    const [left] = messagesOf(node.left, source);
    const [right] = messagesOf(node.right, source);
    return [`${left}${right}`];
  }
  if (ts.isIdentifier(node)) {
    const origin = originOf(node);
    if (origin !== undefined && !ts.isFunctionLike(origin)) return messagesOf(origin, source);
    if (origin !== undefined && isForwarder(origin, source.fileName)) return [];
  }
  if (ts.isPropertyAccessExpression(node)) return []; // The message of an error.
  throw new Error(`${source.fileName}: can not read the message ${node.getText()}`);
}

/** Whether an argument may be a message. Methods with the same name as a forwarder may have other arguments. */
function isText(node: ts.Expression): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    ts.isBinaryExpression(node) ||
    ts.isConditionalExpression(node) ||
    (ts.isIdentifier(node) && /message/i.test(node.text))
  );
}

/** The origin of a name at the place of its use: the value of a constant, or the function whose parameter it is. */
function originOf(name: ts.Identifier): ts.Expression | ts.SignatureDeclaration | undefined {
  for (let scope: ts.Node = name.parent; scope !== undefined; scope = scope.parent) {
    if (ts.isFunctionLike(scope) && scope.parameters.some((each) => each.name.getText() === name.text))
      return scope;
    const statements = ts.isBlock(scope) || ts.isSourceFile(scope) ? scope.statements : [];
    for (const statement of statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const found = statement.declarationList.declarations.find((each) => each.name.getText() === name.text);
      if (found?.initializer !== undefined) return found.initializer;
    }
  }
  return undefined;
}

function isForwarder(of: ts.SignatureDeclaration, file: string): boolean {
  const known = of.name === undefined ? undefined : FORWARDERS[of.name.getText()];
  return file === LOGGERS || (known !== undefined && (known.file === undefined || known.file === file));
}
