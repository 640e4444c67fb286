/** Whether a notebook's kernel died, also where JupyterLab has dropped it since. */
import type { Kernel } from '@jupyterlab/services';
import type { LinkState } from '../state/store/kernelStore';

/**
 * Remembers that a kernel died.
 *
 * JupyterLab drops a kernel that its server no longer lists, and may do so before it hears that the
 * kernel is dead: what it heard last is then that the kernel restarts.
 */
export class KernelDeath {
  private _died = false;
  private _restarts = false;

  /** The kernel that was noted last died, and no other one came. */
  get died(): boolean {
    return this._died;
  }

  /** Notes the kernel that a notebook has now, if any, and the state of its link. */
  note(
    kernel: Pick<Kernel.IKernelConnection, 'status'> | null | undefined,
    link: LinkState | undefined
  ): void {
    if (link === 'dead') {
      this._died = true;
    } else if (kernel) {
      this._died = false;
    } else if (this._restarts) {
      this._died = true;
    }
    switch (kernel?.status) {
      case 'restarting':
      case 'autorestarting':
        this._restarts = true;
        break;
      case 'starting':
      case 'unknown':
        break;
      default:
        this._restarts = false;
    }
  }

  /** Forgets the kernel of a notebook that was left. */
  forget(): void {
    this._died = this._restarts = false;
  }
}
