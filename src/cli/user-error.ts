/** Something that whoever typed the command can see to: shown as its message alone, without a stack. */
export class UserError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
