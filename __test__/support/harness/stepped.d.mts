export function filesWith(before: (call: string) => void): Record<string, (...args: never[]) => unknown>
