import ts from 'typescript';
import type { Module } from './structure.js';

/** A message that the sources log, with `…` for what is filled in. */
export interface LogMessage {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly file: string;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Functions and methods that log what their callers give: the level, and which argument is the message. */
const FORWARDERS: Readonly<Record<string, { level: LogMessage['level']; at: number }>> = {
  logError: { level: 'error', at: 2 },
  warnOfSetup: { level: 'warn', at: 2 },
  report: { level: 'error', at: 1 }, // Session.report(error, message); one argument is another `report`.
  '#warnOnce': { level: 'warn', at: 1 },
  '#print': { level: 'error', at: 0 },
  '#fail': { level: 'error', at: 0 },
  '#exit': { level: 'error', at: 1 },
};

/** All messages that a source logs. @throws Error for one that can't be read, unless it is a parameter of a function that forwards it */
export function logMessagesIn({ file, text }: Pick<Module, 'file' | 'text'>): LogMessage[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: LogMessage[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const call = loggingCall(node);
      const argument = call && node.arguments[call.at];
      if (call !== undefined && argument !== undefined && (call.isLogger || isText(argument)))
        for (const message of messagesOf(argument, source)) found.push({ level: call.level, message, file });
      else if (call?.isLogger === true) throw new Error(`${file}: no message in ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function loggingCall({ expression }: ts.CallExpression) {
  const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
  const level = LEVELS.find((each) => each === name);
  if (level !== undefined && ts.isPropertyAccessExpression(expression))
    return /logger$/i.test(expression.expression.getText()) ? { level, at: 1, isLogger: true } : undefined;
  const forwarder = Object.hasOwn(FORWARDERS, name) ? FORWARDERS[name] : undefined;
  return forwarder && { ...forwarder, isLogger: false };
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
  if (ts.isIdentifier(node))
    return initializersOf(node.text, source).flatMap((each) => messagesOf(each, source));
  if (ts.isPropertyAccessExpression(node)) return []; // The message of an error.
  throw new Error(`${source.fileName}: can not read the message ${node.getText()}`);
}

/** Whether it may be a message: methods of the same name may be given something else. */
function isText(node: ts.Expression): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    ts.isBinaryExpression(node) ||
    ts.isConditionalExpression(node) ||
    (ts.isIdentifier(node) && /message/i.test(node.text))
  );
}

/** Of the constants of that name; none for a parameter. */
function initializersOf(name: string, source: ts.SourceFile): ts.Expression[] {
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer !== undefined)
      found.push(node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
