/** `true` where two types are one, optionality and `readonly` included. */
export type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Fails to compile unless the types are one: `same<A, B>(true)`. */
export function same<A, B>(_same: Same<A, B>): void {}

/** What a function takes and gives. */
export type Shape<F extends (...args: never[]) => unknown> = [...takes: Parameters<F>, gives: ReturnType<F>]
