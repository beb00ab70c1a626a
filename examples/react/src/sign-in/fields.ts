import type { FormEvent } from 'react'

/** For a form's `onSubmit`: passes on the value of each named field. */
export function onFields<Name extends string>(
  names: readonly Name[],
  send: (fields: Readonly<Record<Name, string>>) => void,
): (event: FormEvent<HTMLFormElement>) => void {
  return (event) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const fields = {} as Record<Name, string>
    for (const name of names) fields[name] = String(data.get(name) ?? '')
    send(fields)
  }
}
