import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import type { Message } from '../messages.ts'

/** The place of a message. It is always there: screen readers announce what changes in it. */
export function MessagePlace({ message }: { readonly message: Message | null | undefined }) {
  const isError = message?.tone === 'error'
  return (
    <>
      <div role="alert">{message && isError && <MessageBox message={message} />}</div>
      <div role="status">{message && !isError && <MessageBox message={message} />}</div>
    </>
  )
}

function MessageBox({ message }: { readonly message: Message }) {
  const { tone, title, text, details = [], requestId } = message
  return (
    <div className={`message ${tone}`}>
      {title && <strong>{title} </strong>}
      {text}
      {details.map((detail) => (
        <p key={detail} dir="auto">
          {detail}
        </p>
      ))}
      {requestId && (
        <p>
          <small>{fill(texts.reference, { id: requestId })}</small>
        </p>
      )}
    </div>
  )
}
