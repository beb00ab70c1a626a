import type { FormEvent, ReactNode } from 'react'
import { useAction } from './use-action.ts'

/** The fields by name. A checkbox that is not checked has no value. */
export type Values = Readonly<Record<string, string>>

interface FormProps {
  /** The label of the submit button. */
  readonly submit: string
  readonly onSubmit: (values: Values) => Promise<void>
  /** The fields. The browser keeps their values. */
  readonly children?: ReactNode
  /** Further buttons. */
  readonly more?: ReactNode
}

export function Form({ submit, onSubmit, children, more }: FormProps) {
  const { isOff, labelOf, start, stopWaiting } = useAction()

  function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const values = [...new FormData(form)].map(([name, value]) => [name, String(value)])
    void start(() => onSubmit(Object.fromEntries(values)), form)
  }

  function onInput({ target }: FormEvent) {
    if (target instanceof HTMLInputElement && target.name === 'username') stopWaiting()
  }

  return (
    <form autoComplete="off" spellCheck={false} autoCapitalize="none" onSubmit={send} onInput={onInput}>
      {children}
      <div className="actions">
        <button type="submit" aria-disabled={isOff}>
          {labelOf(submit)}
        </button>
        {more}
      </div>
    </form>
  )
}
