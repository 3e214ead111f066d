/** The results of calls: a promise of the record, and for lists an iterator over the items of all pages. */

/** A record with the headers of its answer. */
export interface Answer<T> {
  data: T;
  /** The ETag of the record, for `ifMatch` and `ifNoneMatch`. */
  etag: string | null;
  /** The answer, whose body has been read. After a conditional read its status can be 304. */
  response: Response;
}

/** A part of a list. */
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** A call. It is a promise of the record, and `withResponse` returns the headers of the answer, too. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Call';
  readonly #send: () => Promise<Answer<T>>;
  #answer: Promise<Answer<T>> | undefined;

  constructor(send: () => Promise<Answer<T>>) {
    this.#send = send;
  }

  /** Return the record with its ETag and the headers of the answer. */
  withResponse(): Promise<Answer<T>> {
    this.#answer ??= this.#send();
    return this.#answer;
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then().finally(onFinally);
  }
}

type ItemOf<P> = P extends { items: (infer T)[] } ? T : never;

/**
 * The call of a list. `await` returns the page that the query asks for, and `for await` iterates over its items and
 * those of all further pages. No request is sent before that.
 */
export class ListCall<P extends Page<unknown>> extends Call<P> implements AsyncIterable<ItemOf<P>> {
  readonly #callNext: (cursor: string) => ListCall<P>;

  constructor(send: () => Promise<Answer<P>>, callNext: (cursor: string) => ListCall<P>) {
    super(send);
    this.#callNext = callNext;
  }

  /** Iterate over the pages. Each is requested when it is needed. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let { data } = await this.withResponse();
    yield data;
    while (data.nextCursor !== null) {
      ({ data } = await this.#callNext(data.nextCursor).withResponse());
      yield data;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<P>, void, undefined> {
    for await (const page of this.pages()) yield* page.items as ItemOf<P>[];
  }
}
