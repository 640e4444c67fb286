/** The links of a page: one per kernel, shared by all of its views. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { Command } from '../protocol/generated';
import {
  UNKNOWN_KERNEL,
  type IKernelView,
  type IReadable
} from '../state/store/kernelStore';
import type { ActOnCells, ReadCells } from './cellAnswers';
import {
  errorReply,
  KernelLink,
  type CommandFields,
  type ILink,
  type OnProgress
} from './kernelLink';
import { JupyterTransport } from './jupyterTransport';
import { ReaderSet } from '../state/store/readerSet';

interface ISharedLink {
  link: KernelLink;
  userCount: number;
}

/** Finds the link that belongs to a notebook. */
export class LinkRegistry {
  private readonly _linksByContext = new Map<ISessionContext, NotebookLink>();
  private readonly _linksByKernel = new Map<string, ISharedLink>();

  constructor(private readonly _version: string) {}

  /**
   * Returns the link of a session context; always the same one.
   *
   * It follows the context from kernel to kernel, and ends with it.
   */
  get(context: ISessionContext): ILink {
    const existing = this._linksByContext.get(context);
    if (existing !== undefined) {
      return existing;
    }
    const link = new NotebookLink(context, this);
    this._linksByContext.set(context, link);
    context.disposed.connect(() => {
      this._linksByContext.delete(context);
      link.dispose();
    });
    return link;
  }

  /** Returns the shared link of a kernel; every call must be followed by one `leave`. */
  join(kernel: Kernel.IKernelConnection): KernelLink {
    const shared = this._linksByKernel.get(kernel.id) ?? {
      link: new KernelLink(new JupyterTransport(kernel), {
        version: this._version
      }),
      userCount: 0
    };
    shared.userCount += 1;
    this._linksByKernel.set(kernel.id, shared);
    return shared.link;
  }

  /** Releases a shared link; the last release disposes of it. */
  leave(kernelId: string): void {
    const shared = this._linksByKernel.get(kernelId);
    if (shared === undefined) {
      return;
    }
    shared.userCount -= 1;
    if (shared.userCount === 0) {
      this._linksByKernel.delete(kernelId);
      shared.link.dispose();
    }
  }
}

/** The link of one notebook, which follows it from kernel to kernel. */
class NotebookLink implements ILink {
  readonly store: IReadable<IKernelView>;
  private _link: KernelLink | null = null;
  private _kernelId = '';
  private readonly _readers = new ReaderSet();
  private readonly _watchers = new Set<{ unwatch: () => void }>();
  /** Functions that offer something of this notebook to a link, each with the function that ends its offer. */
  private readonly _offers = new Map<Offer, () => void>();
  private _unsubscribe: () => void = () => undefined;

  constructor(
    private readonly _context: ISessionContext,
    private readonly _registry: LinkRegistry
  ) {
    this.store = {
      subscribe: this._readers.subscribe,
      getSnapshot: () => this._link?.store.getSnapshot() ?? UNKNOWN_KERNEL
    };
    _context.kernelChanged.connect(this._followKernel);
    this._followKernel();
  }

  get state() {
    return this.store.getSnapshot().link;
  }

  command<T extends Command['type']>(type: T, fields?: CommandFields<T>) {
    return (
      this._link?.command(type, fields) ??
      Promise.resolve(errorReply(NO_KERNEL))
    );
  }

  outcome<T extends Command['type']>(
    type: T,
    fields?: CommandFields<T>,
    onProgress?: OnProgress
  ) {
    return (
      this._link?.outcome(type, fields, onProgress) ??
      Promise.resolve({ error: NO_KERNEL })
    );
  }

  watch(): () => void {
    const watcher = { unwatch: this._link?.watch() ?? noop };
    this._watchers.add(watcher);
    return () => {
      if (this._watchers.delete(watcher)) {
        watcher.unwatch();
      }
    };
  }

  tellCells(read: ReadCells): () => void {
    return this._offer(link => link.tellCells(read));
  }

  serveCells(act: ActOnCells): () => void {
    return this._offer(link => link.serveCells(act));
  }

  retry(): void {
    this._link?.retry();
  }

  catchUp(): void {
    this._link?.catchUp();
  }

  dispose(): void {
    this._context.kernelChanged.disconnect(this._followKernel);
    this._leave();
    this._watchers.clear();
    this._offers.clear();
    this._readers.clear();
  }

  private _offer(offer: Offer): () => void {
    this._offers.set(offer, this._link === null ? noop : offer(this._link));
    return () => {
      this._offers.get(offer)?.();
      this._offers.delete(offer);
    };
  }

  private readonly _followKernel = (): void => {
    const kernel = this._context.session?.kernel ?? null;
    if (kernel?.id === this._kernelId) {
      return;
    }
    this._leave();
    if (kernel !== null) {
      this._kernelId = kernel.id;
      this._link = this._registry.join(kernel);
      this._unsubscribe = this._link.store.subscribe(() => {
        this._readers.notify();
      });
      for (const watcher of this._watchers) {
        watcher.unwatch = this._link.watch();
      }
      for (const offer of this._offers.keys()) {
        this._offers.set(offer, offer(this._link));
      }
    }
    this._readers.notify();
  };

  private _leave(): void {
    if (this._link !== null) {
      this._unsubscribe();
      for (const watcher of this._watchers) {
        watcher.unwatch();
        watcher.unwatch = noop;
      }
      for (const [offer, endOffer] of this._offers) {
        endOffer();
        this._offers.set(offer, noop);
      }
      this._link = null;
      this._registry.leave(this._kernelId);
      this._kernelId = '';
    }
  }
}

type Offer = (link: KernelLink) => () => void;

const NO_KERNEL = 'The notebook has no kernel.';
const noop = () => undefined;
