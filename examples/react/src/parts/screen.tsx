import { type ReactNode, useEffect, useRef } from 'react'
import { texts } from '../language/language.ts'

interface ScreenProps {
  readonly title: ReactNode
  readonly children?: ReactNode
}

/**
 * One screen. The focus moves to the first empty field of its form, else to the submit button, else
 * to the title.
 */
export function Screen({ title, children }: ScreenProps) {
  const screen = useRef<HTMLDivElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${heading.current?.textContent} · ${texts.portal}`
    const next = screen.current?.querySelector<HTMLElement>(
      ':scope > form :is(input:invalid, select:invalid, [type="submit"])',
    )
    const focused = next ?? heading.current
    focused?.focus()
  }, [])
  return (
    <div ref={screen}>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  )
}
