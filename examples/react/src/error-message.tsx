import { GatehouseError } from 'gatehouse-client'
import { describeError } from 'gatehouse-client/messages'

const UNKNOWN = { title: 'Something went wrong', text: 'Please try again.', language: 'en', details: [] }

/** Screen readers announce it when it appears. */
export function ErrorMessage({ error }: { readonly error: unknown }) {
  if (error === undefined) return null
  const { title, text, language, details } = error instanceof GatehouseError ? describeError(error) : UNKNOWN
  return (
    <div role="alert" lang={language}>
      <strong>{title}</strong>
      <p>{text}</p>
      {details.map((detail) => (
        <p key={detail} dir="auto">
          {detail}
        </p>
      ))}
    </div>
  )
}
