/** A modal dialog of the browser: it takes the keyboard, closes by Escape, and gives the keyboard back. */
import { useEffect, useId, useRef, type ReactNode } from 'react';

interface IModalDialogProps {
  className: string;
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** Draws a dialog that is open from the start. */
export function ModalDialog({
  className,
  title,
  onClose,
  children
}: IModalDialogProps) {
  const place = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const node = place.current;
    // An older browser draws it in place.
    if (typeof node?.showModal === 'function') {
      node.showModal();
    } else {
      node?.setAttribute('open', '');
    }
  }, []);
  return (
    <dialog
      ref={place}
      className={`plm-Dialog ${className}`}
      aria-labelledby={titleId}
      onClose={onClose}
      // Escape and the notebook's keys must not reach the page below.
      onKeyDown={event => {
        event.stopPropagation();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Closes the dialog around a button as Escape does; `onClose` is called where the browser has no dialogs. */
export function closeDialog(button: Element, onClose: () => void): void {
  const dialog = button.closest('dialog');
  // Closed by the browser it gives the keyboard back to the button that opened it.
  if (typeof dialog?.close === 'function') {
    dialog.close();
  } else {
    onClose();
  }
}
