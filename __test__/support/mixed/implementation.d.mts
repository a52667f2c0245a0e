export const CONTENTION: RegExp
