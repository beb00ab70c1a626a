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

/** A person reads the messages, and types what is in them. */
export function createPersonalInbox(ask: (question: string) => Promise<string>): Inbox {
  return {
    async next(login, kind) {
      const what = kind === 'mail' ? `the email to ${login}` : `the ${kind} for ${login}`
      const typed = await ask(
        `Code or link of ${what} (the subject if it has neither; empty if none came within a minute): `,
      )
      if (typed === '') return undefined
      return {
        kind,
        text: typed,
        code: /^\d{4,8}$/.test(typed) ? typed : undefined,
        link: URL.canParse(typed) ? typed : undefined,
      }
    },
  }
}
