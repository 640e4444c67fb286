/** A modal dialog of the browser: it takes the keyboard, closes by Escape, and gives the keyboard back. */
import {
  useEffect,
  useId,
  useRef,
  type MouseEvent,
  type ReactNode
} from 'react';

interface IModalDialogProps {
  className: string;
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** Draws a dialog that is open from the start. */
export function ModalDialog(props: IModalDialogProps) {
  const { className, title, onClose, children } = props;
  const elementRef = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = elementRef.current;
    const focusedBefore = document.activeElement;
    // An older browser draws it in place.
    if (typeof dialog?.showModal === 'function') {
      dialog.showModal();
    } else {
      dialog?.setAttribute('open', '');
      dialog?.querySelector('button')?.focus();
    }
    return () => {
      if (focusedBefore instanceof HTMLElement) {
        focusedBefore.focus({ preventScroll: true });
      }
    };
  }, []);
  return (
    <dialog
      ref={elementRef}
      className={`plm-Dialog ${className}`}
      aria-labelledby={titleId}
      onClose={onClose}
      // Escape and the notebook's keys must not reach the page below.
      onKeyDown={event => {
        event.stopPropagation();
        if (event.key === 'Escape') {
          event.preventDefault();
          onClose();
        }
      }}
      onClick={event => {
        if (isBeside(event, event.currentTarget)) {
          onClose();
        }
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Returns whether a pointer is beside a dialog, whose backdrop takes clicks as the dialog itself does. */
function isBeside(
  { target, clientX, clientY }: MouseEvent,
  dialog: HTMLDialogElement
): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return (
    target === dialog &&
    (clientX < left || clientX > right || clientY < top || clientY > bottom)
  );
}
