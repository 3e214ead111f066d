/** The input is not what the service signed. The message says where and how it differs. */
export class InvalidInput extends Error {
  override readonly name = "InvalidInput";
  /** The sequence of the first entry that fails, if it is known. */
  readonly sequence: number | undefined;

  constructor(message: string, sequence?: number) {
    super(message);
    this.sequence = sequence;
  }
}

/** What was passed is not sufficient for a verification. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
