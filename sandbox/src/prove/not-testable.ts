/** Ends a check that is not testable here, from what prepares it. */
export class NotTestable extends Error {
  override readonly name = 'NotTestable'
}
