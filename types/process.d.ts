/** Whether the process that has a number now is the one that was recorded. */
export type ProcessGenerationVerdict = 'same' | 'different' | 'unknown'
