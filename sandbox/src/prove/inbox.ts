/** A message that the org sent. */
export interface Received {
  readonly kind: 'mail' | 'sms' | 'call'
  readonly text: string
  readonly code?: string | undefined
  readonly link?: string | undefined
}

/** Where the messages of the run's users arrive. */
export interface Inbox {
  /** The next message to this user that was not read yet; undefined: none came. */
  next(login: string, kind: Received['kind']): Promise<Received | undefined>
}
