/** How a request body is written. JSON unless a route says otherwise. */
export type BodyEncoding = 'json' | 'form'

export const MEDIA_TYPES: Readonly<Record<BodyEncoding, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}
