/** A mail, text message or call that the sandbox "sent". Times are in milliseconds. */
export type Message = {
  at: number
  kind: 'mail' | 'sms' | 'call'
  login: string
  to: string
  purpose: 'factor-code' | 'factor-activation' | 'recovery' | 'new-device' | 'push-activation'
  text: string
  code?: string
  link?: string
  /** The recovery or activation token that the link carries. */
  token?: string
}

export type Outbox = {
  /** Oldest first; always the same array; the last 10,000 are kept. */
  messages: readonly Message[]
  send(message: Omit<Message, 'at'>): void
  /** The newest message to this user, optionally of one purpose. */
  latest(login: string, purpose?: Message['purpose']): Message | undefined
  clear(): void
}

const KEPT = 10_000

export function createOutbox({ now }: { now: () => number }): Outbox {
  const messages: Message[] = []
  return {
    messages,
    send(message) {
      messages.push({ at: now(), ...message })
      if (messages.length > KEPT) messages.shift()
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
