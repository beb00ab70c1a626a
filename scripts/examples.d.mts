export const STARTERS: readonly string[]
/** Whether the packages that the starters import are there. */
export function preparePackages(): boolean
