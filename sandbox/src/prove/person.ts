import type { Inbox } from './inbox.ts'

/** A person beside the run, for what no program can do. */
export interface Person {
  /** Reads the messages of the run's users. */
  readonly inbox: Inbox
  /** Scans a QR code with Okta Verify; false: cannot. */
  scan(login: string, pictureUrl: string): Promise<boolean>
  /** Approves a request on the phone, and chooses the number that it asks for. */
  approve(login: string, number: number | undefined): Promise<void>
  /** A test user of Active Directory; undefined: there is none. */
  directoryUser(): Promise<{ readonly login: string; readonly password: string } | undefined>
  /** Stops the agents of Active Directory, or starts them again; false: cannot. */
  setAgents(state: 'stopped' | 'started'): Promise<boolean>
}

/** Does what the terminal asks for, and types the results. */
export function createPersonAtTerminal(ask: (question: string) => Promise<string>): Person {
  const hasDone = async (what: string) =>
    /^(y|yes)$/i.test(await ask(`${what}\nDone? (y; anything else: not possible) `))
  return {
    inbox: {
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
    },
    scan: (login, pictureUrl) =>
      hasDone(`Open ${pictureUrl} in a browser, and scan it with Okta Verify, as ${login}.`),
    async approve(login, number) {
      const choose = number === undefined ? '' : `, with the number ${number}`
      await ask(`Approve the sign-in of ${login} on the phone${choose}. Then press Enter. `)
    },
    async directoryUser() {
      const login = await ask('User name of a test user of Active Directory (empty: there is none): ')
      if (login === '') return undefined
      return { login, password: await ask('Password of this test user (it is shown as you type): ') }
    },
    setAgents: (state) =>
      hasDone(state === 'stopped' ? 'Stop all agents of this directory.' : 'Start the agents again.'),
  }
}
