// The list of all profiled MPI calls with their prototypes (an X macro). It is included several times, each time with
// different definitions of:
//
//   KIVIAT_CALL(Name, name, before, after, parameters…)    a call without element counts
//   KIVIAT_SIZED(Name, name, before, after, parameters…)   a call that has a large-count version (…_c) in MPI 4
//   KIVIAT_NAMED(Name, name, before, after, parameters…)   a call with a string parameter, which is wrapped in C only
//   KIVIAT_PERSISTENT(…)    the set-up of a persistent collective, of MPI 4 or an extension (platform/mpi4.hpp), which
//                           has a large-count version, too; KIVIAT_PERSISTENT_PLAIN(…): without
//   KIVIAT_MPI4(…)          another call of MPI 4; KIVIAT_MPI4_SIZED(…): that has a large-count version
//   KIVIAT_MPI4_NAMED(…)    a call of MPI 4 that is wrapped in C only
//
// A parameter is (kind, name); parameters.hpp maps kinds to types in C and Fortran. `before` and `after` are executed
// around the call and describe it to the event `e` (event.hpp). Traffic of collectives is the minimum that the
// operation requires, independent of the MPI's algorithm:
//
//   broadcast, scatter    the root sends each other rank its part
//   gather, reduce        each rank sends the root its part
//   allgather, alltoall   each rank sends each other rank its part
//   reduce_scatter        each rank sends each other rank that rank's part of its contribution
//   allreduce             reduce_scatter and allgather of equal parts: 2/n of the contribution to each other rank,
//   which
//                         is optimal (Patarasuk, Yuan: J. Parallel Distrib. Comput. 69, 2009)
//   scan, exscan          each rank sends its contribution to the next one
//   barrier               no bytes

// --- point to point -----------------------------------------------------------------------------------
#define KIVIAT_SEND_PARAMETERS (in, buf), (count, count), (type, type), (number, dest), (number, tag), (comm, comm)
#define KIVIAT_SENDS(Name, name) \
  KIVIAT_SIZED(Name, name, , e.send(comm, dest, e.bytes(count, type)), KIVIAT_SEND_PARAMETERS)
#define KIVIAT_ISENDS(Name, name)                                                                                     \
  KIVIAT_SIZED(Name, name, , (e.send(comm, dest, e.bytes(count, type)), e.remember(request)), KIVIAT_SEND_PARAMETERS, \
               (request, request))
#define KIVIAT_PERSISTENT_SENDS(Name, name)                                                                \
  KIVIAT_SIZED(Name, name, , e.prepare(comm, dest, e.bytes(count, type), request), KIVIAT_SEND_PARAMETERS, \
               (request, request))

KIVIAT_SENDS(Send, send)
KIVIAT_SENDS(Bsend, bsend)
KIVIAT_SENDS(Ssend, ssend)
KIVIAT_SENDS(Rsend, rsend)
KIVIAT_ISENDS(Isend, isend)
KIVIAT_ISENDS(Ibsend, ibsend)
KIVIAT_ISENDS(Issend, issend)
KIVIAT_ISENDS(Irsend, irsend)
KIVIAT_PERSISTENT_SENDS(Send_init, send_init)
KIVIAT_PERSISTENT_SENDS(Bsend_init, bsend_init)
KIVIAT_PERSISTENT_SENDS(Ssend_init, ssend_init)
KIVIAT_PERSISTENT_SENDS(Rsend_init, rsend_init)

#define KIVIAT_RECV_PARAMETERS (out, buf), (count, count), (type, type), (number, source), (number, tag), (comm, comm)
KIVIAT_SIZED(Recv, recv, , e.receive(comm, source, status), KIVIAT_RECV_PARAMETERS, (status, status))
KIVIAT_SIZED(Irecv, irecv, , (e.receive(comm, source), e.remember(request)), KIVIAT_RECV_PARAMETERS, (request, request))
KIVIAT_SIZED(Recv_init, recv_init, , e.prepare_receive(comm, source, request), KIVIAT_RECV_PARAMETERS,
             (request, request))
KIVIAT_SIZED(Mrecv, mrecv, e.matched(message), , (out, buf), (count, count), (type, type), (message, message),
             (status, status))
KIVIAT_SIZED(Imrecv, imrecv, e.matched(message), e.remember(request), (out, buf), (count, count), (type, type),
             (message, message), (request, request))
KIVIAT_SIZED(Sendrecv, sendrecv, , (e.send(comm, dest, e.bytes(sendcount, sendtype)), e.receive(comm, source, status)),
             (in, sendbuf), (count, sendcount), (type, sendtype), (number, dest), (number, sendtag), (out, recvbuf),
             (count, recvcount), (type, recvtype), (number, source), (number, recvtag), (comm, comm), (status, status))
KIVIAT_SIZED(Sendrecv_replace, sendrecv_replace, ,
             (e.send(comm, dest, e.bytes(count, type)), e.receive(comm, source, status)), (out, buf), (count, count),
             (type, type), (number, dest), (number, sendtag), (number, source), (number, recvtag), (comm, comm),
             (status, status))
#define KIVIAT_ISENDS_AND_RECEIVES(count, type) \
  (e.send(comm, dest, e.bytes(count, type)), e.receive(comm, source), e.remember(request))
KIVIAT_MPI4_SIZED(Isendrecv, isendrecv, , KIVIAT_ISENDS_AND_RECEIVES(sendcount, sendtype), (in, sendbuf),
                  (count, sendcount), (type, sendtype), (number, dest), (number, sendtag), (out, recvbuf),
                  (count, recvcount), (type, recvtype), (number, source), (number, recvtag), (comm, comm),
                  (request, request))
KIVIAT_MPI4_SIZED(Isendrecv_replace, isendrecv_replace, , KIVIAT_ISENDS_AND_RECEIVES(count, type), (out, buf),
                  (count, count), (type, type), (number, dest), (number, sendtag), (number, source), (number, recvtag),
                  (comm, comm), (request, request))
KIVIAT_CALL(Probe, probe, , e.receive(comm, source, status), (number, source), (number, tag), (comm, comm),
            (status, status))
KIVIAT_CALL(Iprobe, iprobe, , e.receive(comm, source, flag, status), (number, source), (number, tag), (comm, comm),
            (flag, flag), (status, status))
KIVIAT_CALL(Mprobe, mprobe, , (e.receive(comm, source, status), e.match(message)), (number, source), (number, tag),
            (comm, comm), (message, message), (status, status))
KIVIAT_CALL(Improbe, improbe, , (e.receive(comm, source, flag, status), e.match(flag, message)), (number, source),
            (number, tag), (comm, comm), (flag, flag), (message, message), (status, status))

KIVIAT_CALL(Wait, wait, e.recall(request, 1), , (request, request), (status, status))
KIVIAT_CALL(Test, test, e.recall(request, 1), , (request, request), (flag, flag), (status, status))
KIVIAT_CALL(Waitall, waitall, e.recall(requests, count), , (number, count), (request, requests), (status, statuses))
KIVIAT_CALL(Testall, testall, e.recall(requests, count), , (number, count), (request, requests), (flag, flag),
            (status, statuses))
KIVIAT_CALL(Waitany, waitany, e.recall(requests, count), , (number, count), (request, requests), (flag, index),
            (status, status))
KIVIAT_CALL(Testany, testany, e.recall(requests, count), , (number, count), (request, requests), (flag, index),
            (flag, flag), (status, status))
KIVIAT_CALL(Waitsome, waitsome, e.recall(requests, count), , (number, count), (request, requests), (flag, outcount),
            (flag, indices), (status, statuses))
KIVIAT_CALL(Testsome, testsome, e.recall(requests, count), , (number, count), (request, requests), (flag, outcount),
            (flag, indices), (status, statuses))
KIVIAT_CALL(Start, start, , e.start(request, 1), (request, request))
KIVIAT_CALL(Startall, startall, , e.start(requests, count), (number, count), (request, requests))
KIVIAT_CALL(Request_free, request_free, e.forget(request), , (request, request))
KIVIAT_CALL(Cancel, cancel, , , (request, request))

// Partitioned messages: their bytes count when they start.
#define KIVIAT_PARTITIONS(buffer, peer)                                                                           \
  (buffer, buf), (number, partitions), (total, count), (type, type), (number, peer), (number, tag), (comm, comm), \
      (info, info), (request, request)
KIVIAT_MPI4(Psend_init, psend_init, , e.prepare(comm, dest, partitions* e.bytes(count, type), request),
            KIVIAT_PARTITIONS(in, dest))
KIVIAT_MPI4(Precv_init, precv_init, , e.prepare_receive(comm, source, request), KIVIAT_PARTITIONS(out, source))
KIVIAT_MPI4(Pready, pready, e.recall_one(request), , (number, partition), (handle, request))
KIVIAT_MPI4(Pready_range, pready_range, e.recall_one(request), , (number, low), (number, high), (handle, request))
KIVIAT_MPI4(Pready_list, pready_list, e.recall_one(request), , (number, length), (partitions, list), (handle, request))
KIVIAT_MPI4(Parrived, parrived, e.recall_one(request), , (handle, request), (number, partition), (flag, flag))

// --- collectives, blocking and not ----------------------------------------------------------------------
#define KIVIAT_COLLECTIVE(Name, name, iname, after, ...)                                                          \
  KIVIAT_SIZED(Name, name, , after, __VA_ARGS__, (comm, comm))                                                    \
  KIVIAT_SIZED(I##name, iname, , (after, e.remember(request)), __VA_ARGS__, (comm, comm), (request, request))     \
  KIVIAT_PERSISTENT(Name##_init, name##_init, , (e.collect(), after, e.prepare_collective(request)), __VA_ARGS__, \
                    (comm, comm), (info, info), (request, request))

KIVIAT_CALL(Barrier, barrier, , e.meet(comm), (comm, comm))
KIVIAT_PERSISTENT_PLAIN(Barrier_init, barrier_init, , (e.collect(), e.meet(comm), e.prepare_collective(request)),
                        (comm, comm), (info, info), (request, request))
KIVIAT_CALL(Ibarrier, ibarrier, , (e.meet(comm), e.remember(request)), (comm, comm), (request, request))
KIVIAT_COLLECTIVE(Bcast, bcast, ibcast, e.root_to_each(comm, root, e.rooted(root, count, type)), (out, buf),
                  (count, count), (type, type), (number, root))
KIVIAT_COLLECTIVE(Reduce, reduce, ireduce, e.each_to_root(comm, root, e.rooted(root, count, type)), (in, sendbuf),
                  (out, recvbuf), (count, count), (type, type), (op, op), (number, root))
KIVIAT_COLLECTIVE(Gather, gather, igather,
                  e.each_to_root(comm, root, e.gathered(root, sendbuf, sendcount, sendtype, recvcount, recvtype)),
                  (in, sendbuf), (count, sendcount), (type, sendtype), (out, recvbuf), (count, recvcount),
                  (type, recvtype), (number, root))
KIVIAT_COLLECTIVE(Gatherv, gatherv, igatherv,
                  e.each_to_root(comm, root,
                                 e.gathered(comm, root, sendbuf, sendcount, sendtype, recvcounts, recvtype)),
                  (in, sendbuf), (count, sendcount), (type, sendtype), (out, recvbuf), (counts, recvcounts),
                  (displacements, displs), (type, recvtype), (number, root))
KIVIAT_COLLECTIVE(Scatter, scatter, iscatter,
                  e.root_to_each(comm, root, e.scattered(comm, root, sendcount, sendtype, recvcount, recvtype)),
                  (in, sendbuf), (count, sendcount), (type, sendtype), (out, recvbuf), (count, recvcount),
                  (type, recvtype), (number, root))
KIVIAT_COLLECTIVE(Scatterv, scatterv, iscatterv, e.root_to(comm, root, sendcounts, sendtype), (in, sendbuf),
                  (counts, sendcounts), (displacements, displs), (type, sendtype), (out, recvbuf), (count, recvcount),
                  (type, recvtype), (number, root))
// The receive parameters determine the size, because the send parameters are ignored with MPI_IN_PLACE.
KIVIAT_COLLECTIVE(Allgather, allgather, iallgather, e.each_to_each(comm, e.bytes(recvcount, recvtype)), (in, sendbuf),
                  (count, sendcount), (type, sendtype), (out, recvbuf), (count, recvcount), (type, recvtype))
KIVIAT_COLLECTIVE(Allgatherv, allgatherv, iallgatherv, e.mine_to_each(comm, recvcounts, recvtype), (in, sendbuf),
                  (count, sendcount), (type, sendtype), (out, recvbuf), (counts, recvcounts), (displacements, displs),
                  (type, recvtype))
KIVIAT_COLLECTIVE(Alltoall, alltoall, ialltoall, e.each_to_each(comm, e.bytes(recvcount, recvtype)), (in, sendbuf),
                  (count, sendcount), (type, sendtype), (out, recvbuf), (count, recvcount), (type, recvtype))
KIVIAT_COLLECTIVE(Alltoallv, alltoallv, ialltoallv,
                  (e.in_place(sendbuf) ? e.to_others(comm, recvcounts, recvtype)
                                       : e.to_others(comm, sendcounts, sendtype)),
                  (in, sendbuf), (counts, sendcounts), (displacements, sdispls), (type, sendtype), (out, recvbuf),
                  (counts, recvcounts), (displacements, rdispls), (type, recvtype))
KIVIAT_COLLECTIVE(Alltoallw, alltoallw, ialltoallw,
                  (e.in_place(sendbuf) ? e.to_others(comm, recvcounts, recvtypes)
                                       : e.to_others(comm, sendcounts, sendtypes)),
                  (in, sendbuf), (counts, sendcounts), (displacements, sdispls), (types, sendtypes), (out, recvbuf),
                  (counts, recvcounts), (displacements, rdispls), (types, recvtypes))
KIVIAT_COLLECTIVE(Allreduce, allreduce, iallreduce, e.reduce_for_all(comm, e.bytes(count, type)), (in, sendbuf),
                  (out, recvbuf), (count, count), (type, type), (op, op))
KIVIAT_COLLECTIVE(Reduce_scatter, reduce_scatter, ireduce_scatter, e.to_others(comm, recvcounts, type), (in, sendbuf),
                  (out, recvbuf), (counts, recvcounts), (type, type), (op, op))
KIVIAT_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, ireduce_scatter_block,
                  e.each_to_each(comm, e.bytes(recvcount, type)), (in, sendbuf), (out, recvbuf), (count, recvcount),
                  (type, type), (op, op))
KIVIAT_COLLECTIVE(Scan, scan, iscan, e.to_next(comm, e.bytes(count, type)), (in, sendbuf), (out, recvbuf),
                  (count, count), (type, type), (op, op))
KIVIAT_COLLECTIVE(Exscan, exscan, iexscan, e.to_next(comm, e.bytes(count, type)), (in, sendbuf), (out, recvbuf),
                  (count, count), (type, type), (op, op))
KIVIAT_COLLECTIVE(Neighbor_allgather, neighbor_allgather, ineighbor_allgather,
                  e.to_neighbours(comm, e.bytes(sendcount, sendtype)), (in, sendbuf), (count, sendcount),
                  (type, sendtype), (out, recvbuf), (count, recvcount), (type, recvtype))
KIVIAT_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, ineighbor_allgatherv,
                  e.to_neighbours(comm, e.bytes(sendcount, sendtype)), (in, sendbuf), (count, sendcount),
                  (type, sendtype), (out, recvbuf), (counts, recvcounts), (displacements, displs), (type, recvtype))
KIVIAT_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, ineighbor_alltoall,
                  e.to_neighbours(comm, e.bytes(sendcount, sendtype)), (in, sendbuf), (count, sendcount),
                  (type, sendtype), (out, recvbuf), (count, recvcount), (type, recvtype))
KIVIAT_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, ineighbor_alltoallv,
                  e.to_neighbours(comm, sendcounts, sendtype), (in, sendbuf), (counts, sendcounts),
                  (displacements, sdispls), (type, sendtype), (out, recvbuf), (counts, recvcounts),
                  (displacements, rdispls), (type, recvtype))
KIVIAT_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, ineighbor_alltoallw,
                  e.to_neighbours(comm, sendcounts, sendtypes), (in, sendbuf), (counts, sendcounts),
                  (addresses, sdispls), (types, sendtypes), (out, recvbuf), (counts, recvcounts), (addresses, rdispls),
                  (types, recvtypes))

// --- one-sided ------------------------------------------------------------------------------------------
#define KIVIAT_TARGET (number, target), (address, target_disp), (count, target_count), (type, target_type)
KIVIAT_SIZED(Put, put, , e.put(win, target, e.bytes(count, type)), (in, origin), (count, count), (type, type),
             KIVIAT_TARGET, (win, win))
KIVIAT_SIZED(Get, get, , e.get(win, target, e.bytes(count, type)), (out, origin), (count, count), (type, type),
             KIVIAT_TARGET, (win, win))
KIVIAT_SIZED(Accumulate, accumulate, , e.put(win, target, e.bytes(count, type)), (in, origin), (count, count),
             (type, type), KIVIAT_TARGET, (op, op), (win, win))
KIVIAT_SIZED(Get_accumulate, get_accumulate, ,
             (e.put(win, target, op, count, type), e.get(win, target, e.bytes(result_count, result_type))),
             (in, origin), (count, count), (type, type), (out, result), (count, result_count), (type, result_type),
             KIVIAT_TARGET, (op, op), (win, win))
KIVIAT_SIZED(Rput, rput, , (e.put(win, target, e.bytes(count, type)), e.remember(request)), (in, origin),
             (count, count), (type, type), KIVIAT_TARGET, (win, win), (request, request))
KIVIAT_SIZED(Rget, rget, , (e.get(win, target, e.bytes(count, type)), e.remember(request)), (out, origin),
             (count, count), (type, type), KIVIAT_TARGET, (win, win), (request, request))
KIVIAT_SIZED(Raccumulate, raccumulate, , (e.put(win, target, e.bytes(count, type)), e.remember(request)), (in, origin),
             (count, count), (type, type), KIVIAT_TARGET, (op, op), (win, win), (request, request))
KIVIAT_SIZED(Rget_accumulate, rget_accumulate, ,
             (e.put(win, target, op, count, type), e.get(win, target, e.bytes(result_count, result_type)),
              e.remember(request)),
             (in, origin), (count, count), (type, type), (out, result), (count, result_count), (type, result_type),
             KIVIAT_TARGET, (op, op), (win, win), (request, request))
KIVIAT_CALL(Fetch_and_op, fetch_and_op, , (e.put(win, target, op, 1, type), e.get(win, target, e.bytes(1, type))),
            (in, origin), (out, result), (type, type), (number, target), (address, target_disp), (op, op), (win, win))
KIVIAT_CALL(Compare_and_swap, compare_and_swap, ,
            (e.put(win, target, 2 * e.bytes(1, type)), e.get(win, target, e.bytes(1, type))), (in, origin),
            (in, compare), (out, result), (type, type), (number, target), (address, target_disp), (win, win))
KIVIAT_CALL(Win_fence, win_fence, , e.synchronise(win), (number, assertion), (win, win))
KIVIAT_CALL(Win_start, win_start, , e.synchronise(win), (group, group), (number, assertion), (win, win))
KIVIAT_CALL(Win_complete, win_complete, , e.synchronise(win), (win, win))
KIVIAT_CALL(Win_post, win_post, , e.synchronise(win), (group, group), (number, assertion), (win, win))
KIVIAT_CALL(Win_wait, win_wait, , e.synchronise(win), (win, win))
KIVIAT_CALL(Win_test, win_test, , e.synchronise(win), (win, win), (flag, flag))
KIVIAT_CALL(Win_lock, win_lock, , e.reach(win, rank), (number, kind), (number, rank), (number, assertion), (win, win))
KIVIAT_CALL(Win_unlock, win_unlock, , e.reach(win, rank), (number, rank), (win, win))
KIVIAT_CALL(Win_lock_all, win_lock_all, , e.synchronise(win), (number, assertion), (win, win))
KIVIAT_CALL(Win_unlock_all, win_unlock_all, , e.synchronise(win), (win, win))
KIVIAT_CALL(Win_flush, win_flush, , e.reach(win, rank), (number, rank), (win, win))
KIVIAT_CALL(Win_flush_local, win_flush_local, , e.reach(win, rank), (number, rank), (win, win))
KIVIAT_CALL(Win_flush_all, win_flush_all, , e.synchronise(win), (win, win))
KIVIAT_CALL(Win_flush_local_all, win_flush_local_all, , e.synchronise(win), (win, win))
KIVIAT_CALL(Win_sync, win_sync, , e.synchronise(win), (win, win))
KIVIAT_SIZED(Win_create, win_create, , e.meet(comm), (out, base), (extent, size), (unit, disp_unit), (info, info),
             (comm, comm), (new_win, win))
KIVIAT_SIZED(Win_allocate, win_allocate, , e.meet(comm), (extent, size), (unit, disp_unit), (info, info), (comm, comm),
             (out, base), (new_win, win))
KIVIAT_SIZED(Win_allocate_shared, win_allocate_shared, , e.meet(comm), (extent, size), (unit, disp_unit), (info, info),
             (comm, comm), (out, base), (new_win, win))
KIVIAT_CALL(Win_create_dynamic, win_create_dynamic, , e.meet(comm), (info, info), (comm, comm), (new_win, win))
KIVIAT_CALL(Win_free, win_free, , , (new_win, win))

// --- communicators --------------------------------------------------------------------------------------
KIVIAT_CALL(Comm_dup, comm_dup, , e.meet(comm), (comm, comm), (new_comm, newcomm))
KIVIAT_CALL(Comm_dup_with_info, comm_dup_with_info, , e.meet(comm), (comm, comm), (info, info), (new_comm, newcomm))
KIVIAT_CALL(Comm_idup, comm_idup, , (e.meet(comm), e.remember(request)), (comm, comm), (new_comm, newcomm),
            (request, request))
KIVIAT_CALL(Comm_create, comm_create, , e.meet(comm), (comm, comm), (group, group), (new_comm, newcomm))
KIVIAT_CALL(Comm_create_group, comm_create_group, , e.meet(comm), (comm, comm), (group, group), (number, tag),
            (new_comm, newcomm))
KIVIAT_CALL(Comm_split, comm_split, , e.meet(comm), (comm, comm), (number, color), (number, key), (new_comm, newcomm))
KIVIAT_CALL(Comm_split_type, comm_split_type, , e.meet(comm), (comm, comm), (number, kind), (number, key), (info, info),
            (new_comm, newcomm))
KIVIAT_CALL(Comm_free, comm_free, , , (new_comm, comm))
KIVIAT_CALL(Comm_disconnect, comm_disconnect, , , (new_comm, comm))
KIVIAT_CALL(Cart_create, cart_create, , e.meet(comm), (comm, comm), (number, ndims), (numbers, dims),
            (numbers, periods), (number, reorder), (new_comm, newcomm))
KIVIAT_CALL(Cart_sub, cart_sub, , e.meet(comm), (comm, comm), (numbers, remain), (new_comm, newcomm))
KIVIAT_CALL(Graph_create, graph_create, , e.meet(comm), (comm, comm), (number, nodes), (numbers, index),
            (numbers, edges), (number, reorder), (new_comm, newcomm))
KIVIAT_CALL(Dist_graph_create, dist_graph_create, , e.meet(comm), (comm, comm), (number, n), (numbers, sources),
            (numbers, degrees), (numbers, destinations), (numbers, weights), (info, info), (number, reorder),
            (new_comm, newcomm))
KIVIAT_CALL(Dist_graph_create_adjacent, dist_graph_create_adjacent, , e.meet(comm), (comm, comm), (number, indegree),
            (numbers, sources), (numbers, sourceweights), (number, outdegree), (numbers, destinations),
            (numbers, destweights), (info, info), (number, reorder), (new_comm, newcomm))
KIVIAT_CALL(Intercomm_create, intercomm_create, , e.meet(comm), (comm, comm), (number, local_leader), (comm, peer),
            (number, remote_leader), (number, tag), (new_comm, newcomm))
KIVIAT_CALL(Intercomm_merge, intercomm_merge, , e.meet(comm), (comm, comm), (number, high), (new_comm, newcomm))

// Only real programs start processes and sessions.
#ifndef KIVIAT_SIMULATED
KIVIAT_NAMED(Comm_spawn, comm_spawn, , e.spawn(comm, root, intercomm), (text, command), (texts, argv),
             (number, maxprocs), (info, info), (number, root), (comm, comm), (new_comm, intercomm), (flag, errcodes))
KIVIAT_NAMED(Comm_spawn_multiple, comm_spawn_multiple, , e.spawn(comm, root, intercomm), (number, count),
             (texts, commands), (texts_of_each, argvs), (numbers, maxprocs), (infos, infos), (number, root),
             (comm, comm), (new_comm, intercomm), (flag, errcodes))
#endif
KIVIAT_MPI4_NAMED(Session_finalize, session_finalize, , e.local(), (new_session, session))
KIVIAT_MPI4_NAMED(Group_from_session_pset, group_from_session_pset, , e.local(), (session, session), (text, pset),
                  (new_group, group))
KIVIAT_MPI4_NAMED(Comm_create_from_group, comm_create_from_group, , e.meet_if_made(*newcomm), (group, group),
                  (text, tag), (info, info), (errhandler, errhandler), (new_comm, newcomm))

// --- other calls that wait ------------------------------------------------------------------------------
KIVIAT_CALL(Request_get_status, request_get_status, e.recall_one(request), , (handle, request), (flag, flag),
            (status, status))
KIVIAT_CALL(Buffer_detach, buffer_detach, , , (out, buf), (flag, size))
#ifndef KIVIAT_SIMULATED
KIVIAT_NAMED(Comm_accept, comm_accept, , e.meet(comm), (text, port), (info, info), (number, root), (comm, comm),
             (new_comm, newcomm))
KIVIAT_NAMED(Comm_connect, comm_connect, , e.meet(comm), (text, port), (info, info), (number, root), (comm, comm),
             (new_comm, newcomm))
KIVIAT_CALL(Comm_join, comm_join, , , (number, socket), (new_comm, newcomm))
#endif
KIVIAT_MPI4(Comm_idup_with_info, comm_idup_with_info, , (e.meet(comm), e.remember(request)), (comm, comm), (info, info),
            (new_comm, newcomm), (request, request))
KIVIAT_MPI4_NAMED(Intercomm_create_from_groups, intercomm_create_from_groups, , e.meet(*newcomm), (group, group),
                  (number, local_leader), (group, remote_group), (number, remote_leader), (text, tag), (info, info),
                  (errhandler, errhandler), (new_comm, newcomm))

// --- files ----------------------------------------------------------------------------------------------
#define KIVIAT_FILES(Name, name, buffer, ...) \
  KIVIAT_SIZED(Name, name, , e.file(e.bytes(count, type)), __VA_ARGS__, (buffer, buf), (count, count), (type, type))
// DONE: blocking calls, which have a status. BEGUN: non-blocking calls, which have a request.
#define KIVIAT_FILES_DONE(Name, name, buffer, ...)                                                                   \
  KIVIAT_SIZED(Name, name, , e.file(e.bytes(count, type)), __VA_ARGS__, (buffer, buf), (count, count), (type, type), \
               (status, status))
#define KIVIAT_FILES_BEGUN(Name, name, buffer, ...)                                                           \
  KIVIAT_SIZED(Name, name, , (e.file(e.bytes(count, type)), e.remember(request)), __VA_ARGS__, (buffer, buf), \
               (count, count), (type, type), (request, request))
#define KIVIAT_FILES_END(Name, name, buffer) \
  KIVIAT_CALL(Name, name, , e.file(), (file, fh), (buffer, buf), (status, status))
#define KIVIAT_AT (file, fh), (offset, offset)
#define KIVIAT_READ_OR_WRITE(read, buffer)                                                   \
  KIVIAT_FILES_DONE(File_##read, file_##read, buffer, (file, fh))                            \
  KIVIAT_FILES_DONE(File_##read##_all, file_##read##_all, buffer, (file, fh))                \
  KIVIAT_FILES_DONE(File_##read##_at, file_##read##_at, buffer, KIVIAT_AT)                   \
  KIVIAT_FILES_DONE(File_##read##_at_all, file_##read##_at_all, buffer, KIVIAT_AT)           \
  KIVIAT_FILES_DONE(File_##read##_shared, file_##read##_shared, buffer, (file, fh))          \
  KIVIAT_FILES_DONE(File_##read##_ordered, file_##read##_ordered, buffer, (file, fh))        \
  KIVIAT_FILES_BEGUN(File_i##read, file_i##read, buffer, (file, fh))                         \
  KIVIAT_FILES_BEGUN(File_i##read##_all, file_i##read##_all, buffer, (file, fh))             \
  KIVIAT_FILES_BEGUN(File_i##read##_at, file_i##read##_at, buffer, KIVIAT_AT)                \
  KIVIAT_FILES_BEGUN(File_i##read##_at_all, file_i##read##_at_all, buffer, KIVIAT_AT)        \
  KIVIAT_FILES_BEGUN(File_i##read##_shared, file_i##read##_shared, buffer, (file, fh))       \
  KIVIAT_FILES(File_##read##_all_begin, file_##read##_all_begin, buffer, (file, fh))         \
  KIVIAT_FILES_END(File_##read##_all_end, file_##read##_all_end, buffer)                     \
  KIVIAT_FILES(File_##read##_at_all_begin, file_##read##_at_all_begin, buffer, KIVIAT_AT)    \
  KIVIAT_FILES_END(File_##read##_at_all_end, file_##read##_at_all_end, buffer)               \
  KIVIAT_FILES(File_##read##_ordered_begin, file_##read##_ordered_begin, buffer, (file, fh)) \
  KIVIAT_FILES_END(File_##read##_ordered_end, file_##read##_ordered_end, buffer)
KIVIAT_READ_OR_WRITE(read, out)
KIVIAT_READ_OR_WRITE(write, in)
KIVIAT_NAMED(File_open, file_open, , e.file(), (comm, comm), (text, filename), (number, amode), (info, info),
             (new_file, fh))
KIVIAT_NAMED(File_set_view, file_set_view, , e.file(), (file, fh), (offset, disp), (type, etype), (type, filetype),
             (text, datarep), (info, info))
KIVIAT_CALL(File_close, file_close, , e.file(), (new_file, fh))
KIVIAT_CALL(File_sync, file_sync, , e.file(), (file, fh))
KIVIAT_CALL(File_set_size, file_set_size, , e.file(), (file, fh), (offset, size))
KIVIAT_CALL(File_preallocate, file_preallocate, , e.file(), (file, fh), (offset, size))

#undef KIVIAT_FILES
#undef KIVIAT_FILES_DONE
#undef KIVIAT_FILES_BEGUN
#undef KIVIAT_FILES_END
#undef KIVIAT_AT
#undef KIVIAT_READ_OR_WRITE
#undef KIVIAT_SEND_PARAMETERS
#undef KIVIAT_SENDS
#undef KIVIAT_ISENDS
#undef KIVIAT_PERSISTENT_SENDS
#undef KIVIAT_RECV_PARAMETERS
#undef KIVIAT_ISENDS_AND_RECEIVES
#undef KIVIAT_COLLECTIVE
#undef KIVIAT_PARTITIONS
#undef KIVIAT_TARGET
