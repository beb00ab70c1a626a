/** An email, text message or phone call that the org sent. `at` is in milliseconds. */
export type Message = {
  at: number
  kind: 'mail' | 'sms' | 'call'
  login: string
  to: string
  purpose:
    | 'factor-code'
    | 'factor-activation'
    | 'recovery'
    | 'recovery-denied'
    | 'new-device'
    | 'push-activation'
  text: string
  code?: string
  link?: string
  /** The recovery or activation token in the link. */
  token?: string
}

export type Outbox = {
  /** The last 10,000 messages, oldest first. Always the same array. */
  messages: readonly Message[]
  send(message: Omit<Message, 'at'>): void
  /** The latest message to this user, optionally with this purpose. */
  latest(login: string, purpose?: Message['purpose']): Message | undefined
  clear(): void
}

const MAX_MESSAGES = 10_000

export function createOutbox({ now }: { now: () => number }): Outbox {
  const messages: Message[] = []
  return {
    messages,
    send(message) {
      messages.push({ at: now(), ...message })
      if (messages.length > MAX_MESSAGES) messages.shift()
    },
    latest: (login, purpose) =>
      messages.findLast(
        (message) => message.login === login && (purpose === undefined || message.purpose === purpose),
      ),
    clear() {
      messages.length = 0
    },
  }
}
